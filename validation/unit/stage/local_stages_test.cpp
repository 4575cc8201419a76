// Stages that a program drives, on one rank or on two whose messages the test carries.
#include "trireme/stage/local_stages.hpp"

#include <array>
#include <cstring>

#include "error_message.hpp"
#include "unit/stage/small_models.hpp"
#include "unit/stage/stage_numbers.hpp"

namespace trireme {
namespace {

constexpr std::size_t layers_before_the_cut = 3;  // the embedding and the first block

Program program_of(std::string_view text) {
    Program program;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(' ', begin), text.size());
        program.push_back(parse_instruction(text.substr(begin, end - begin), "the test"));
        begin = end + 1;
    }
    return program;
}

// Both stages of a model on one team, or one on each of two.
PipelineShape shape_of(int teams, int micro_batches, bool is_training = true) {
    return grid_shape(teams, 1, 2 / teams, micro_batches, is_training);
}

class StagesOf : public testing::TestWithParam<SmallModel> {
protected:
    StagesOf() {
        for (std::int64_t visit = 0; visit < 3; ++visit) {
            const auto length = static_cast<std::size_t>(9 - visit);
            rows_.emplace_back(std::array{make_sample(config_, visit, length)});
        }
        for (const TokenRows& rows : rows_) batches_.push_back(rows.batch());
    }

    LocalWork work_of(int team, std::vector<int> stages) const {
        const std::size_t all = build_layers(config_).size();
        const std::array<Range, 2> layers{Range{0, layers_before_the_cut},
                                          Range{layers_before_the_cut, all - layers_before_the_cut}};
        LocalWork work{.model = config_, .stages = std::move(stages), .team = team, .dtype = DType::f64};
        for (const int stage : work.stages) {
            work.specs.push_back({.layers = layers[static_cast<std::size_t>(stage)]});
            for (const BackwardHalves halves : {BackwardHalves::together, BackwardHalves::apart}) {
                work.memory = larger_of(work.memory, predict(config_, work.specs.back(), rows_[0].shape(),
                                                             {.dtype = DType::f64, .halves = halves}));
            }
        }
        work.most_rows = rows_[0].shape().rows;
        return work;
    }

    // As scatter_weights() has them.
    void take_weights(const LocalStages& stages) const {
        WholeModel whole = make_stage(config_, DType::f64, rows_[0].shape());
        scatter_weights(whole);
        NamedNumbers weights;
        for (std::size_t i = 0; i < whole.parameters().size(); ++i) {
            weights[whole.parameters()[i].name] = numbers_of(whole.values()[i]);
        }
        const LocalParameters& held = stages.parameters();
        for (std::size_t i = 0; i < held.specs().size(); ++i) {
            set_numbers(held.values()[i], weights.at(held.specs()[i].name));
        }
    }

    Round round_of(const PipelineShape& shape, const Program& program) const {
        Round round{.shape = shape,
                    .program = program,
                    .batches = {},
                    .dropout_key = RandomKey{77},
                    .loss_scale = 0.25,
                    .label_smoothing = shape.is_training ? 0.1 : 0,
                    .update = [] {}};
        for (int m = 0; m < shape.micro_batches; ++m) {
            round.batches.push_back(&batches_[static_cast<std::size_t>(m)]);
        }
        return round;
    }

    void run_all(LocalStages& stages, const Round& round) {
        stages.begin(stream_, round);
        for (const Instruction& instruction : round.program) stages.run(instruction);
    }

    // Of the first micro-batches, one after the other.
    void train_whole(WholeModel& whole, std::size_t micro_batches, std::vector<double>& losses) {
        scatter_weights(whole);
        for (std::size_t m = 0; m < micro_batches; ++m) {
            const PassOptions options{.dropout_key = RandomKey{77}, .loss_scale = 0.25, .label_smoothing = 0.1};
            losses.push_back(whole.forward_backward(stream_, batches_[m], options));
        }
    }

    static NamedNumbers gradients_of(const LocalStages& stages) {
        NamedNumbers gradients;
        const LocalParameters& held = stages.parameters();
        for (std::size_t i = 0; i < held.specs().size(); ++i) {
            gradients[held.specs()[i].name] = numbers_of(held.gradients()[i]);
        }
        return gradients;
    }

    static std::vector<double> losses_of(const LocalStages& stages) {
        std::vector<double> losses;
        for (const auto& [micro_batch, outcome] : stages.outcomes()) losses.push_back(outcome.loss);
        return losses;
    }

    Stream stream_{.backend = ReferenceStream{}};
    const ModelConfig config_ = config_of(GetParam());
    std::vector<TokenRows> rows_;
    std::vector<TokenBatch> batches_;
};

TEST_P(StagesOf, AModelOnOneRankAreTheModelToTheBit) {
    LocalStages stages(work_of(0, {0, 1}), nullptr, false, Place::memory);
    take_weights(stages);
    const PipelineShape shape = shape_of(1, 2);
    const Program program = program_of("0F0 1F0 0F1 1F1 1B0 0B0 1B1 0B1 REDUCE1 REDUCE0 STEP0 STEP1");
    WholeModel whole = make_stage(config_, DType::f64, rows_[0].shape());
    std::vector<double> expected;
    train_whole(whole, 2, expected);

    run_all(stages, round_of(shape, program));

    EXPECT_EQ(losses_of(stages), expected);
    EXPECT_EQ(gradients_of(stages), trireme::gradients_of(whole));
}

// Gradients add up in another order.
TEST_P(StagesOf, AModelGiveItsGradientsInAnyOrderOfBackwardPassesAndHalves) {
    WholeModel whole = make_stage(config_, DType::f64, rows_[0].shape());
    std::vector<double> losses;
    train_whole(whole, 3, losses);
    const NamedNumbers expected = trireme::gradients_of(whole);
    const PipelineShape shape = shape_of(1, 3);

    for (const char* const text :
         {"0F0 0F1 0F2 1F0 1F1 1F2 1B2 1B1 1B0 0B1 0B0 0B2 REDUCE1 REDUCE0 STEP0 STEP1",
          "0F0 1F0 1I0 0I0 0F1 1F1 1I1 1W0 0F2 1F2 1I2 0I1 0W0 1W2 0I2 1W1 0W2 0W1 "
          "REDUCE0 REDUCE1 STEP0 STEP1"}) {
        SCOPED_TRACE(text);
        LocalStages stages(work_of(0, {0, 1}), nullptr, false, Place::memory);
        take_weights(stages);
        const Program program = program_of(text);

        run_all(stages, round_of(shape, program));

        EXPECT_EQ(losses_of(stages), losses);
        for (const auto& [name, gradient] : gradients_of(stages)) {
            EXPECT_LE(error_of(gradient, expected.at(name), gradient_floor(expected, name)), 1e-12) << name;
        }
    }
}

TEST_P(StagesOf, AModelEvaluateAsTheModelDoes) {
    LocalStages stages(work_of(0, {0, 1}), nullptr, false, Place::memory);
    take_weights(stages);
    WholeModel whole = make_stage(config_, DType::f64, rows_[0].shape());
    scatter_weights(whole);
    const PipelineShape shape = shape_of(1, 3, false);
    const Program program = program_of("0F0 0F1 1F0 0F2 1F1 1F2");

    run_all(stages, round_of(shape, program));

    ASSERT_EQ(stages.outcomes().size(), 3U);
    for (const auto& [micro_batch, outcome] : stages.outcomes()) {
        const LossState expected = whole.evaluate(stream_, batches_[static_cast<std::size_t>(micro_batch)]);
        EXPECT_EQ(outcome.loss, expected.loss);
        EXPECT_EQ(outcome.choices, expected.choices);
    }
    EXPECT_EQ(norm_of(gradients_of(stages)), 0);
}

void carry(LocalStages& sender, std::string_view send, LocalStages& receiver, std::string_view receive) {
    const Instruction message = parse_instruction(send, "the test");
    const Tensor place = receiver.place_for(parse_instruction(receive, "the test"));
    const ConstTensor result = sender.result_for(message);
    ASSERT_EQ(place.bytes(), result.bytes());
    std::memcpy(place.data, result.data, result.bytes());
    sender.sent(message);
}

// A micro-batch from the first rank to the second and back, several times over.
TEST_P(StagesOf, TwoRanksHandRowsToEachOtherInMemoryThatIsUsedAgain) {
    LocalStages first(work_of(0, {0}), nullptr, false, Place::memory);
    LocalStages second(work_of(1, {1}), nullptr, false, Place::memory);
    take_weights(first);
    take_weights(second);
    const PipelineShape shape = shape_of(2, 1);
    const std::array programs{program_of("0F0 0SEND_F0 0RECV_B0 0B0 REDUCE0 STEP0"),
                              program_of("1RECV_F0 1F0 1B0 1SEND_B0 REDUCE1 STEP1")};
    const Round first_round = round_of(shape, programs[0]);
    const Round second_round = round_of(shape, programs[1]);
    WholeModel whole = make_stage(config_, DType::f64, rows_[0].shape());
    std::vector<double> expected;
    train_whole(whole, 1, expected);
    std::size_t bytes_of_the_first_round = 0;

    for (int repeat = 0; repeat < 3; ++repeat) {
        first.begin(stream_, first_round);
        second.begin(stream_, second_round);
        first.run({Op::forward, 0, 0});
        carry(first, "0SEND_F0", second, "1RECV_F0");
        second.run({Op::forward, 1, 0});
        second.run({Op::backward, 1, 0});
        carry(second, "1SEND_B0", first, "0RECV_B0");
        first.run({Op::backward, 0, 0});
        EXPECT_EQ(losses_of(second), expected);
        if (repeat > 0) continue;
        bytes_of_the_first_round = first.peak_bytes() + second.peak_bytes();
        NamedNumbers gradients = gradients_of(first);
        for (const auto& [name, gradient] : gradients_of(second)) {
            std::vector<double>& sum = gradients[name];  // of a tied table both have a part
            sum.resize(gradient.size());
            for (std::size_t e = 0; e < gradient.size(); ++e) sum[e] += gradient[e];
        }
        const NamedNumbers all = trireme::gradients_of(whole);
        for (const auto& [name, gradient] : all) {
            EXPECT_LE(error_of(gradients.at(name), gradient, gradient_floor(all, name)), 1e-12) << name;
        }
    }

    EXPECT_EQ(first.peak_bytes() + second.peak_bytes(), bytes_of_the_first_round);
}

INSTANTIATE_TEST_SUITE_P(Models, StagesOf, testing::ValuesIn(every_small_model()),
                         [](const auto& model) { return testing::PrintToString(model.param); });

// The only rank, and buckets that nobody else holds: it says which parameters are complete, and no more.
class LoneExchange {
public:
    explicit LoneExchange(const LocalParameters& held)
        : plan_(plan_of(held.specs())),
          exchange_(plan_, 0, held.specs(), held.values(), held.gradients(), groups_, Place::memory) {}

    GradientExchange& operator*() { return exchange_; }

private:
    static GradientPlan plan_of(const std::vector<ParameterSpec>& specs) {
        GradientPlan plan;
        for (const ParameterSpec& spec : specs) {
            plan.tensors.push_back({spec.name, spec.rows, spec.columns, 0, {{0, spec.placements[0].box}}});
        }
        plan.pieces = cut_in_pieces(plan.tensors);
        plan.buckets = fill_buckets(plan.tensors, plan.pieces);
        return plan;
    }

    GradientPlan plan_;
    DataGroups groups_;
    GradientExchange exchange_;
};

class TiedStages : public StagesOf {};

// finish() throws where a gradient is not complete, complete() where one is twice.
TEST_P(TiedStages, CompleteEachGradientOnceAtTheLastBackwardPassOfAllItsUses) {
    LocalStages stages(work_of(0, {0, 1}), nullptr, false, Place::memory);
    LoneExchange exchange(stages.parameters());
    stages.sum_with(&*exchange);
    const PipelineShape shape = shape_of(1, 2);
    const Program program = program_of("0F0 1F0 0F1 1F1 1B0 1B1 0B1 0B0 REDUCE1 REDUCE0 STEP0 STEP1");
    int updates = 0;
    Round round = round_of(shape, program);
    round.update = [&] {
        (*exchange).finish();
        ++updates;
    };

    for (int step = 0; step < 2; ++step) run_all(stages, round);

    EXPECT_EQ(updates, 2);
}

TEST_P(TiedStages, CompleteEachGradientWhereMicroBatchesAreEmpty) {
    LocalStages stages(work_of(0, {0, 1}), nullptr, false, Place::memory);
    LoneExchange exchange(stages.parameters());
    stages.sum_with(&*exchange);
    const PipelineShape shape = shape_of(1, 2);
    const Program program = program_of("0F0 1F0 0F1 1F1 1B0 0B0 1B1 0B1 REDUCE1 REDUCE0 STEP0 STEP1");
    Round round = round_of(shape, program);
    int updates = 0;
    round.update = [&] {
        (*exchange).finish();
        ++updates;
    };

    round.batches[1] = nullptr;
    run_all(stages, round);
    EXPECT_EQ(stages.outcomes().size(), 1U);
    round.batches[0] = nullptr;
    run_all(stages, round);

    EXPECT_TRUE(stages.outcomes().empty());
    EXPECT_EQ(updates, 2);
}

INSTANTIATE_TEST_SUITE_P(Models, TiedStages, testing::Values(every_small_model().front()),
                         [](const auto& model) { return testing::PrintToString(model.param); });

// One row over three ranks: the last has none, and still gives back each place that it was given.
TEST(StagesWithoutOwnRows, UseTheirMemoryAgain) {
    ModelConfig config = config_of(every_small_model().front());
    config.heads = 4;
    const TokenRows rows(std::array{make_sample(config, 0, 1)});
    const TokenBatch batch = rows.batch();
    const StageSpec spec{.layers = {1, 2}, .part = {.rank = 2, .shares = {1, 1, 1}}};
    const LocalWork work{
        .model = config,
        .stages = {1},
        .specs = {spec},
        .team = 1,
        .dtype = DType::f64,
        .memory = predict(config, spec, rows.shape(), {.dtype = DType::f64, .cuts_rows = true}),
        .most_rows = 1};
    const auto group = ghost_group("tensor", 2, 3);
    LocalStages stages(work, group.get(), true, Place::ghost);
    Stream stream{.backend = GhostStream{}};
    const PipelineShape shape = grid_shape(3, 1, 1, 1);
    const Program program = program_of("1RECV_F0 1F0 1SEND_F0 1RECV_B0 1B0 1SEND_B0 REDUCE1 STEP1");
    const Round round{.shape = shape, .program = program, .batches = {&batch}, .update = [] {}};
    std::vector<std::size_t> bytes;

    for (int repeat = 0; repeat < 3; ++repeat) {
        stages.begin(stream, round);
        for (const Instruction& instruction : program) {
            if (is_receive(instruction.op)) {
                EXPECT_EQ(stages.place_for(instruction).rows, 0U);
            } else if (is_send(instruction.op)) {
                EXPECT_EQ(stages.result_for(instruction).rows, 0U);
                stages.sent(instruction);
            } else {
                stages.run(instruction);
            }
        }
        bytes.push_back(stages.peak_bytes());
    }

    EXPECT_EQ(bytes, std::vector<std::size_t>(3, bytes[0]));
}

TEST(RowBuffers, AreMadeOnceForAsManyAsAreInUseAtATime) {
    RowBuffers buffers(4, 3, DType::f64, Place::memory);

    const Tensor a = buffers.take(4);
    const Tensor b = buffers.take(2);
    buffers.give_back(a);
    const Tensor c = buffers.take(3);

    EXPECT_NE(a.data, b.data);
    EXPECT_EQ(a.data, c.data);
    EXPECT_EQ(b.rows, 2U);
    EXPECT_EQ(c.columns, 3U);
    EXPECT_EQ(buffers.count(), 2U);
    EXPECT_EQ(buffers.bytes_each(), 4 * 3 * sizeof(double));
}

TEST(RowBuffers, RefuseMoreRowsThanTheyWereMadeFor) {
    RowBuffers buffers(4, 3, DType::f64, Place::memory);

    EXPECT_EQ(validation::message_of<BugError>([&] { buffers.take(5); }), "a buffer of 4 rows was asked for 5");
}

}  // namespace
}  // namespace trireme
