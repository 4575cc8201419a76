// Tests the memory that stages use for the buffers of passes and messages.
#include "error_message.hpp"
#include "unit/stage/stages_of.hpp"

namespace trireme::stage {
namespace {

class StepMemoryUse : public ModelStages {
protected:
    // Returns the planned memory of a step with the first micro-batches of the fixture.
    StepMemory plan_memory(const LocalWork& work, const Execution& round) const {
        std::vector<BatchShape> shapes;
        for (const model::TokenBatch* const batch : make_step(round).batches)
            shapes.push_back(find_shape(*batch));
        return StepMemoryPlanner(work).plan_step(round.program, work.team, round.shape, shapes);
    }
};

// The micro-batches have 9, 8 and 7 rows.
TEST_P(StepMemoryUse, IsTheMemoryThatIsPlanned) {
    const LocalWork work = make_local_work(0, {0, 1});
    for (const char* const text :
         {"0F0 1F0 1B0 0B0 0F1 1F1 1B1 0B1 0F2 1F2 1B2 0B2 REDUCE1 REDUCE0 STEP0 STEP1",
          "0F0 0F1 0F2 1F0 1F1 1F2 1B2 1B1 1B0 0B1 0B0 0B2 REDUCE1 REDUCE0 STEP0 STEP1",
          "0F0 1F0 1I0 0I0 0F1 1F1 1I1 1W0 0F2 1F2 1I2 0I1 0W0 1W2 0I2 1W1 0W2 0W1 "
          "REDUCE0 REDUCE1 STEP0 STEP1"}) {
        SCOPED_TRACE(text);
        LocalStages stages(work, nullptr, device::MemorySpace::host);
        take_weights(stages);
        const schedule::PipelineShape shape = make_shape(1, 3);
        const schedule::Program program = program_of(text);
        const Execution round = round_of(shape, program);

        run_all(stages, round);

        const auto planned = static_cast<double>(plan_memory(work, round).bytes);
        EXPECT_LE(static_cast<double>(stages.peak_bytes()), planned);
        EXPECT_GE(static_cast<double>(stages.peak_bytes()), 0.95 * planned);
    }
}

TEST_P(StepMemoryUse, OfAnEvaluationIsTheMemoryThatIsPlanned) {
    const LocalWork work = make_local_work(0, {0, 1});
    LocalStages stages(work, nullptr, device::MemorySpace::host);
    const schedule::PipelineShape shape = make_shape(1, 3, false);
    const schedule::Program program = program_of("0F0 0F1 1F0 0F2 1F1 1F2");
    const Execution round = round_of(shape, program);

    run_all(stages, round);

    EXPECT_LE(stages.peak_bytes(), plan_memory(work, round).bytes);
    EXPECT_GE(static_cast<double>(stages.peak_bytes()),
              0.95 * static_cast<double>(plan_memory(work, round).bytes));
}

// Each micro-batch has other levels, which save memory and change no values beyond rounding.
TEST_P(StepMemoryUse, FallsIfBlocksOfSomeMicrobatchesAreRecomputed) {
    using enum plan::Recompute;
    const LocalWork work = make_local_work(0, {0, 1});
    const std::size_t last_blocks = list_blocks(config_, {3, build_layers(config_).size() - 3}).size();
    const std::vector<plan::MicrobatchLevels> mixed{
        {{none, full}, std::vector(last_blocks, none)}, {}, {{full, none}, std::vector(last_blocks, full)}};
    const std::vector<plan::MicrobatchLevels> without_full{
        {{none, selective}, std::vector(last_blocks, selective)}, mixed[1], mixed[2]};
    const schedule::PipelineShape shape = make_shape(1, 3);
    for (const auto& [text, levels] :
         {std::pair{"0F0 0F1 0F2 1F0 1F1 1F2 1B2 1B1 1B0 0B1 0B0 0B2 REDUCE1 REDUCE0 STEP0 STEP1", mixed},
          std::pair{"0F0 0F1 0F2 1F0 1F1 1F2 1I0 0I0 1B2 1W0 1B1 0W0 0B1 0B2 REDUCE1 REDUCE0 STEP0 STEP1",
                    without_full}}) {
        SCOPED_TRACE(text);
        const schedule::Program program = program_of(text);
        const Execution round = round_of(shape, program);
        LocalStages kept(work, nullptr, device::MemorySpace::host);
        LocalStages recomputed(work, nullptr, device::MemorySpace::host);
        take_weights(kept);
        take_weights(recomputed);
        StepWork step = make_step(round);
        run_all(kept, round, step);
        step.levels = levels;

        run_all(recomputed, round, step);

        EXPECT_LT(recomputed.peak_bytes(), kept.peak_bytes());
        const NamedNumbers expected = read_gradients(kept);
        for (const auto& [name, gradient] : read_gradients(recomputed))
            EXPECT_LE(error_of(gradient, expected.at(name), gradient_floor(expected, name)), 1e-12) << name;
        for (std::size_t m = 0; m < 3; ++m) EXPECT_NEAR(losses_of(recomputed)[m], losses_of(kept)[m], 1e-12);
        std::vector<BatchShape> shapes;
        for (const model::TokenBatch* const batch : step.batches) shapes.push_back(find_shape(*batch));
        const StepMemory planned = StepMemoryPlanner(work).plan_step(program, work.team, shape, shapes, levels);
        EXPECT_LE(recomputed.peak_bytes(), planned.bytes);
        EXPECT_GE(static_cast<double>(recomputed.peak_bytes()), 0.95 * static_cast<double>(planned.bytes));
    }
}

INSTANTIATE_TEST_SUITE_P(Models, StepMemoryUse, testing::ValuesIn(list_small_models()),
                         [](const auto& model) { return testing::PrintToString(model.param); });

class StepMemoryLimit : public StepMemoryUse {};

TEST_P(StepMemoryLimit, IsCheckedBeforeAStepStarts) {
    LocalWork work = make_local_work(0, {0, 1});
    work.rank = 5;
    work.max_step_bytes = 6400;
    LocalStages stages(work, nullptr, device::MemorySpace::host);
    const schedule::PipelineShape shape = make_shape(1, 1);
    const schedule::Program program = program_of("0F0 1F0 1B0 0B0 REDUCE1 REDUCE0 STEP0 STEP1");
    const Execution round = round_of(shape, program);

    const std::string message = validation::catch_message<BugError>([&] { begin(stages, round); });

    EXPECT_EQ(message,
              cat("rank 5 needs ", plan_memory(work, round).bytes,
                  " bytes for the activations and messages of a step, but only 6400 bytes are allowed"));
}

// A stash has room for one tensor only.
TEST_P(StepMemoryLimit, IsCheckedByEachAllocation) {
    LocalWork work = make_local_work(0, {0, 1});
    work.rank = 5;
    EqualBuffers buffers{.sizes = make_stage(config_, device::DType::f64, rows_[0].shape()).peak(),
                         .stashes = 1};
    buffers.sizes.activations = 9 * config_.width * sizeof(double);
    work.equal_buffers = buffers;
    LocalStages stages(work, nullptr, device::MemorySpace::host);
    const schedule::PipelineShape shape = make_shape(1, 1);
    const schedule::Program program = program_of("0F0 1F0 1B0 0B0 REDUCE1 REDUCE0 STEP0 STEP1");
    const Execution round = round_of(shape, program);
    begin(stages, round);

    const std::string message = validation::catch_message<BugError>([&] { stages.run(program.front()); });

    EXPECT_TRUE(message.starts_with("rank 5 exceeds its memory in 0F0: the activation arena needs "))
        << message;
    EXPECT_TRUE(message.ends_with(cat(" bytes, but was predicted to need only ", buffers.sizes.activations)))
        << message;
}

INSTANTIATE_TEST_SUITE_P(Models, StepMemoryLimit, testing::Values(list_small_models().front()),
                         [](const auto& model) { return testing::PrintToString(model.param); });

}  // namespace
}  // namespace trireme::stage
