// Tests stages that a program drives, on one rank or on two ranks whose messages the test carries.
#include "trireme/stage/local_stages.hpp"

#include <array>
#include <cstring>

#include "error_message.hpp"
#include "unit/stage/stages_of.hpp"

namespace trireme::stage {
namespace {

TEST_P(ModelStages, MatchTheWholeModelBitForBitOnOneRank) {
    LocalStages stages(make_local_work(0, {0, 1}), nullptr, device::MemorySpace::host);
    take_weights(stages);
    const schedule::PipelineShape shape = make_shape(1, 2);
    const schedule::Program program = program_of("0F0 1F0 0F1 1F1 1B0 0B0 1B1 0B1 REDUCE1 REDUCE0 STEP0 STEP1");
    WholeModel whole = make_stage(config_, device::DType::f64, rows_[0].shape());
    std::vector<double> expected;
    train_whole(whole, 2, expected);

    run_all(stages, round_of(shape, program));

    EXPECT_EQ(losses_of(stages), expected);
    EXPECT_EQ(read_gradients(stages), trireme::stage::read_gradients(whole));
}

TEST_P(ModelStages, TakeOverTheParametersOfEarlierStages) {
    LocalStages earlier(make_local_work(0, {0, 1}), nullptr, device::MemorySpace::host);
    take_weights(earlier);
    const void* const memory = earlier.parameters().values().all().data;
    WholeModel whole = make_stage(config_, device::DType::f64, rows_[0].shape());
    std::vector<double> expected;
    train_whole(whole, 2, expected);

    LocalStages stages(make_local_work(0, {0, 1}), nullptr, device::MemorySpace::host,
                       earlier.parameters().take_values());
    run_all(stages, round_of(make_shape(1, 2), program_of("0F0 1F0 0F1 1F1 1B0 0B0 1B1 0B1 REDUCE1 REDUCE0 "
                                                          "STEP0 STEP1")));

    EXPECT_EQ(stages.parameters().values().all().data, memory);
    EXPECT_EQ(losses_of(stages), expected);
}

// Gradients are added in a different order here, so they agree up to rounding.
TEST_P(ModelStages, GiveTheSameGradientsInAnyOrderOfBackwardPasses) {
    WholeModel whole = make_stage(config_, device::DType::f64, rows_[0].shape());
    std::vector<double> losses;
    train_whole(whole, 3, losses);
    const NamedNumbers expected = trireme::stage::read_gradients(whole);
    const schedule::PipelineShape shape = make_shape(1, 3);

    for (const char* const text :
         {"0F0 0F1 0F2 1F0 1F1 1F2 1B2 1B1 1B0 0B1 0B0 0B2 REDUCE1 REDUCE0 STEP0 STEP1",
          "0F0 1F0 1I0 0I0 0F1 1F1 1I1 1W0 0F2 1F2 1I2 0I1 0W0 1W2 0I2 1W1 0W2 0W1 "
          "REDUCE0 REDUCE1 STEP0 STEP1"}) {
        SCOPED_TRACE(text);
        LocalStages stages(make_local_work(0, {0, 1}), nullptr, device::MemorySpace::host);
        take_weights(stages);
        const schedule::Program program = program_of(text);

        run_all(stages, round_of(shape, program));

        EXPECT_EQ(losses_of(stages), losses);
        for (const auto& [name, gradient] : read_gradients(stages)) {
            EXPECT_LE(error_of(gradient, expected.at(name), gradient_floor(expected, name)), 1e-12) << name;
        }
    }
}

TEST_P(ModelStages, EvaluateLikeTheWholeModel) {
    LocalStages stages(make_local_work(0, {0, 1}), nullptr, device::MemorySpace::host);
    take_weights(stages);
    WholeModel whole = make_stage(config_, device::DType::f64, rows_[0].shape());
    scatter_weights(whole);
    const schedule::PipelineShape shape = make_shape(1, 3, false);
    const schedule::Program program = program_of("0F0 0F1 1F0 0F2 1F1 1F2");

    run_all(stages, round_of(shape, program));

    ASSERT_EQ(stages.outcomes(0).size(), 3U);
    for (const auto& [microbatch, outcome] : stages.outcomes(0)) {
        const model::LossState expected =
            whole.evaluate(stream_, batches_[static_cast<std::size_t>(microbatch)]);
        EXPECT_EQ(outcome.loss, expected.loss);
        EXPECT_EQ(outcome.choices, expected.choices);
    }
    EXPECT_EQ(norm_of(read_gradients(stages)), 0);
}

void carry(LocalStages& sender, std::string_view send, LocalStages& receiver, std::string_view receive) {
    const schedule::Instruction message = schedule::parse_instruction(send, "the test");
    const device::Tensor place =
        receiver.provide_receive_buffer(schedule::parse_instruction(receive, "the test"));
    const device::ConstTensor result = sender.find_send_buffer(message);
    ASSERT_EQ(place.bytes(), result.bytes());
    std::memcpy(place.data, result.data, result.bytes());
    sender.finish_send(message);
}

// A micro-batch goes from the first rank to the second and back, several times.
TEST_P(ModelStages, ExchangeRowsBetweenRanksInReusedBuffers) {
    LocalStages first(make_local_work(0, {0}), nullptr, device::MemorySpace::host);
    LocalStages second(make_local_work(1, {1}), nullptr, device::MemorySpace::host);
    take_weights(first);
    take_weights(second);
    const schedule::PipelineShape shape = make_shape(2, 1);
    const std::array programs{program_of("0F0 0SEND_F0 0RECV_B0 0B0 REDUCE0 STEP0"),
                              program_of("1RECV_F0 1F0 1B0 1SEND_B0 REDUCE1 STEP1")};
    const Execution first_round = round_of(shape, programs[0]);
    const Execution second_round = round_of(shape, programs[1]);
    WholeModel whole = make_stage(config_, device::DType::f64, rows_[0].shape());
    std::vector<double> expected;
    train_whole(whole, 1, expected);
    for (int repeat = 0; repeat < 3; ++repeat) {
        begin(first, first_round);
        begin(second, second_round);
        first.run({schedule::Op::forward, 0, 0});
        carry(first, "0SEND_F0", second, "1RECV_F0");
        second.run({schedule::Op::forward, 1, 0});
        second.run({schedule::Op::backward, 1, 0});
        carry(second, "1SEND_B0", first, "0RECV_B0");
        first.run({schedule::Op::backward, 0, 0});
        EXPECT_EQ(losses_of(second), expected);
        if (repeat > 0) continue;
        NamedNumbers gradients = read_gradients(first);
        for (const auto& [name, gradient] : read_gradients(second)) {
            std::vector<double>& sum = gradients[name];  // both ranks have a gradient of a tied table
            sum.resize(gradient.size());
            for (std::size_t e = 0; e < gradient.size(); ++e) sum[e] += gradient[e];
        }
        const NamedNumbers all = trireme::stage::read_gradients(whole);
        for (const auto& [name, gradient] : all) {
            EXPECT_LE(error_of(gradients.at(name), gradient, gradient_floor(all, name)), 1e-12) << name;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Models, ModelStages, testing::ValuesIn(list_small_models()),
                         [](const auto& model) { return testing::PrintToString(model.param); });

// An exchange of one rank whose buckets have no other holder. It tracks which parameters are complete, and no
// more.
class SingleRankExchange {
public:
    explicit SingleRankExchange(const LocalParameters& held) : plan_(plan_of(held.specs())) {
        exchanges_.emplace_back(plan_, 0, held.specs(), held.values(), held.gradients(), groups_,
                                device::MemorySpace::host);
    }

    std::vector<GradientExchange>* all() { return &exchanges_; }
    GradientExchange& operator*() { return exchanges_.front(); }

private:
    static GradientPlan plan_of(const std::vector<model::ParameterSpec>& specs) {
        GradientPlan plan;
        for (const model::ParameterSpec& spec : specs) {
            plan.tensors.push_back({spec.name, spec.rows, spec.columns, 0, {{0, spec.placements[0].box}}});
        }
        plan.pieces = cut_in_pieces(plan.tensors);
        plan.buckets = fill_buckets(plan.tensors, plan.pieces);
        return plan;
    }

    GradientPlan plan_;
    DataGroups groups_;
    std::vector<GradientExchange> exchanges_;
};

class TiedStages : public ModelStages {};

// finish() throws if a gradient is not complete; complete() throws if it is complete already.
TEST_P(TiedStages, CompleteEachGradientExactlyOncePerStep) {
    LocalStages stages(make_local_work(0, {0, 1}), nullptr, device::MemorySpace::host);
    SingleRankExchange exchange(stages.parameters());
    stages.set_gradient_exchanges(exchange.all());
    const schedule::PipelineShape shape = make_shape(1, 2);
    const schedule::Program program = program_of("0F0 1F0 0F1 1F1 1B0 1B1 0B1 0B0 REDUCE1 REDUCE0 STEP0 STEP1");
    int updates = 0;
    Execution round = round_of(shape, program);
    UpdateCall count([&] {
        (*exchange).finish();
        ++updates;
    });
    round.events = &count;

    for (int step = 0; step < 2; ++step) run_all(stages, round);

    EXPECT_EQ(updates, 2);
}

TEST_P(TiedStages, CompleteEachGradientDespiteEmptyMicrobatches) {
    LocalStages stages(make_local_work(0, {0, 1}), nullptr, device::MemorySpace::host);
    SingleRankExchange exchange(stages.parameters());
    stages.set_gradient_exchanges(exchange.all());
    const schedule::PipelineShape shape = make_shape(1, 2);
    const schedule::Program program = program_of("0F0 1F0 0F1 1F1 1B0 0B0 1B1 0B1 REDUCE1 REDUCE0 STEP0 STEP1");
    Execution round = round_of(shape, program);
    int updates = 0;
    UpdateCall count([&] {
        (*exchange).finish();
        ++updates;
    });
    round.events = &count;

    StepWork work = make_step(round);
    work.batches[1] = nullptr;
    run_all(stages, round, work);
    EXPECT_EQ(stages.outcomes(0).size(), 1U);
    work.batches[0] = nullptr;
    run_all(stages, round, work);

    EXPECT_TRUE(stages.outcomes(0).empty());
    EXPECT_EQ(updates, 2);
}

INSTANTIATE_TEST_SUITE_P(Models, TiedStages, testing::Values(list_small_models().front()),
                         [](const auto& model) { return testing::PrintToString(model.param); });

// One row is divided among three ranks. The last rank has no row, and still frees each buffer that it was
// given.
TEST(StagesWithoutOwnRows, FreeTheirBuffers) {
    model::ModelConfig config = config_of(list_small_models().front());
    config.heads = 4;
    const TokenRows rows(std::array{make_sample(config, 0, 1)});
    const model::TokenBatch batch = rows.batch();
    const StageSpec spec{.layers = {1, 2}, .part = {.rank = 2, .shares = {1, 1, 1}}};
    const LocalWork work{
        .model = config,
        .stages = {1},
        .specs = {spec},
        .team = 1,
        .variant = {.dtype = device::DType::f64, .cuts_rows = true},
        .equal_buffers = EqualBuffers{
            .sizes = predict(config, spec, rows.shape(), {.dtype = device::DType::f64, .cuts_rows = true}),
            .stashes = 1,
            .rows = 3}};
    const auto group = comm::make_ghost_group("tensor", 2, 3);
    LocalStages stages(work, group.get(), device::MemorySpace::host);
    device::Stream stream{.backend = device::GhostStream{}};
    const schedule::PipelineShape shape = schedule::make_grid_shape(3, 1, 1, 1);
    const schedule::Program program = program_of("1RECV_F0 1F0 1SEND_F0 1RECV_B0 1B0 1SEND_B0 REDUCE1 STEP1");
    const Execution round{.shape = shape, .program = program};
    stages.begin(stream, round);

    // A buffer that is not freed would be missing in the second step.
    for (int step = 0; step < 3; ++step) {
        stages.add_step({.batches = {&batch}});
        for (const schedule::Instruction& instruction : shift_microbatches(program, step)) {
            if (is_receive(instruction.op)) {
                EXPECT_EQ(stages.provide_receive_buffer(instruction).rows, 0U);
            } else if (is_send(instruction.op)) {
                EXPECT_EQ(stages.find_send_buffer(instruction).rows, 0U);
                stages.finish_send(instruction);
            } else {
                stages.run(instruction);
            }
        }
    }
}

}  // namespace
}  // namespace trireme::stage
