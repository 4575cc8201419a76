// Tests stages whose work continues over the end of a step.
#include "trireme/kernels/fill.hpp"
#include "unit/stage/stages_of.hpp"

namespace trireme::stage {
namespace {

// The whole model is one stage, and a step is one micro-batch.
class StepsInFlight : public ModelStages {
protected:
    // Returns the gradients of the first micro-batch, from a model that does not count steps.
    NamedNumbers expected_gradients() {
        std::vector<double> losses;
        train_whole(whole_, 1, losses);
        return trireme::stage::read_gradients(whole_);
    }

    LocalStages stages_with(const CopyCounts& copies) {
        LocalWork work = make_local_work(0, {0});
        work.specs[0].layers = {0, build_layers(config_).size()};
        work.copies = copies;
        work.equal_buffers = {.sizes = whole_.peak(), .stashes = 2};
        return {work, nullptr, device::MemorySpace::host};
    }

    static void run(LocalStages& stages, std::string_view program) {
        for (const schedule::Instruction& instruction : program_of(program)) stages.run(instruction);
    }

    WholeModel whole_ = make_stage(config_, device::DType::f64, rows_[0].shape());
    const schedule::PipelineShape shape_ = schedule::make_grid_shape(1, 1, 1, 1);
    const schedule::Program one_step_ = program_of("0F0 0B0 REDUCE0 STEP0");
};

// The work of a step begins before the update of the step before, and ends after it.
TEST_P(StepsInFlight, RunBackwardWithTheWeightsOfTheirForward) {
    const NamedNumbers expected = expected_gradients();
    LocalStages stages = stages_with({.values = 2, .gradients = 1});
    take_weights(stages);
    Execution round = round_of(shape_, one_step_);
    UpdateCall clear(
        [&] { launch(stream_, kernels::Fill{.output = stages.parameters().values().all(), .value = 0}); });
    round.events = &clear;

    begin(stages, round);
    stages.add_step(make_step(round));  // the same micro-batch again
    run(stages, "0F0 0F1 0B0 REDUCE0 STEP0 0B1@1 REDUCE0");

    EXPECT_EQ(read_gradients(stages), expected);
}

TEST_P(StepsInFlight, AccumulateIntoSeparateGradients) {
    const NamedNumbers expected = expected_gradients();
    LocalStages stages = stages_with({.values = 1, .gradients = 2});
    take_weights(stages);
    const Execution round = round_of(shape_, one_step_);

    begin(stages, round);
    stages.add_step({.batches = {&batches_[1]}, .loss_scale = 0.25});
    run(stages, "0F0 0B0 0F1 0B1 REDUCE0");

    EXPECT_EQ(read_gradients(stages), expected);
    EXPECT_NE(read_gradients(stages, 1), expected);
    EXPECT_EQ(stages.find_gradient_copy(0), 0U);
    EXPECT_EQ(stages.find_gradient_copy(1), 1U);
    EXPECT_EQ(stages.find_gradient_copy(2), 0U);
}

INSTANTIATE_TEST_SUITE_P(Models, StepsInFlight, testing::ValuesIn(list_small_models()),
                         [](const auto& model) { return testing::PrintToString(model.param); });

}  // namespace
}  // namespace trireme::stage
