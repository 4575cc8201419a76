// Tests that recomputation changes how much memory is held but no result.
#include <array>

#include "error_message.hpp"
#include "unit/stage/small_models.hpp"
#include "unit/stage/stage_numbers.hpp"

namespace trireme::stage {
namespace {

struct RecomputeTrial {
    const char* name;
    device::Stream stream;
    device::DType dtype;
    SmallModel model;

    friend void PrintTo(const RecomputeTrial& trial, std::ostream* out) {
        *out << trial.name << "_" << trial.model.name;
    }
};

std::vector<RecomputeTrial> every_recompute_trial() {
    std::vector<RecomputeTrial> trials;
    for (const SmallModel& model : list_small_models()) {
        trials.push_back({"reference_f64", {.backend = device::ReferenceStream{}}, device::DType::f64, model});
        trials.push_back({"cpu_f32", {.backend = device::CpuStream{}}, device::DType::f32, model});
    }
    return trials;
}

bool operator==(const StageMemory& a, const StageMemory& b) {
    return a.activations == b.activations && a.scratch == b.scratch &&
           a.block_activations == b.block_activations && a.exchange == b.exchange;
}

class Recomputation : public testing::TestWithParam<RecomputeTrial> {
protected:
    Recomputation() {
        for (const std::int64_t visit : {3, 4}) {
            samples_.push_back(make_sample(config_, visit, static_cast<std::size_t>(2 * visit + 1)));
        }
    }

    StageMemory predict_memory(plan::Recompute recompute,
                               BackwardHalves halves = BackwardHalves::together) const {
        return predict(config_, GetParam().dtype, rows().shape(), halves, recompute);
    }

    WholeModel model_of(plan::Recompute recompute, BackwardHalves halves = BackwardHalves::together) const {
        WholeModel model(config_, GetParam().dtype, device::MemorySpace::host,
                         predict_memory(recompute, halves), recompute);
        scatter_weights(model);
        return model;
    }

    double train(WholeModel& model, BackwardHalves halves = BackwardHalves::together) {
        const TokenRows rows = this->rows();
        return model.forward_backward(stream_, rows.batch(), {.dropout_key = RandomKey{77}}, halves);
    }

    model::LossState evaluate(WholeModel& model) {
        const TokenRows rows = this->rows();
        return model.evaluate(stream_, rows.batch());
    }

    TokenRows rows() const { return TokenRows(samples_); }

    device::Stream stream_ = GetParam().stream;
    const model::ModelConfig config_ = config_of(GetParam().model);
    std::vector<TokenSample> samples_;
};

TEST_P(Recomputation, ChangesNoBitOfLossAndGradients) {
    WholeModel keeper = model_of(plan::Recompute::none);
    const double loss = train(keeper);
    const NamedNumbers gradients = read_gradients(keeper);

    for (const plan::Recompute recompute : {plan::Recompute::selective, plan::Recompute::full}) {
        WholeModel model = model_of(recompute);

        EXPECT_EQ(train(model), loss) << to_string(recompute);
        EXPECT_EQ(read_gradients(model), gradients) << to_string(recompute);
    }
}

TEST_P(Recomputation, ChangesNoBitIfBackwardRunsInHalves) {
    WholeModel keeper = model_of(plan::Recompute::none, BackwardHalves::apart);
    WholeModel forgetter = model_of(plan::Recompute::selective, BackwardHalves::apart);

    EXPECT_EQ(train(forgetter, BackwardHalves::apart), train(keeper, BackwardHalves::apart));
    EXPECT_EQ(read_gradients(forgetter), read_gradients(keeper));
}

TEST_P(Recomputation, KeepsFewerActivationsTheMoreItRecomputes) {
    const std::size_t all = predict_memory(plan::Recompute::none).activations;
    const std::size_t some = predict_memory(plan::Recompute::selective).activations;
    const std::size_t inputs = predict_memory(plan::Recompute::full).activations;

    EXPECT_GT(all, some);
    EXPECT_GT(some, inputs);
}

TEST_P(Recomputation, UsesThePredictedMemory) {
    for (const plan::Recompute recompute :
         {plan::Recompute::none, plan::Recompute::selective, plan::Recompute::full}) {
        WholeModel model = model_of(recompute);

        train(model);
        evaluate(model);

        EXPECT_TRUE(model.peak() == predict_memory(recompute)) << to_string(recompute);
    }
}

TEST_P(Recomputation, DoesNotChangeEvaluationOrItsMemory) {
    WholeModel keeper = model_of(plan::Recompute::none);
    WholeModel forgetter = model_of(plan::Recompute::full);

    const model::LossState expected = evaluate(keeper);
    const model::LossState found = evaluate(forgetter);

    EXPECT_EQ(found.loss, expected.loss);
    EXPECT_EQ(found.choices, expected.choices);
    const std::size_t of_rows = rows().shape().rows * config_.width * byte_size(GetParam().dtype);
    EXPECT_EQ(keeper.peak().activations, of_rows);
    EXPECT_EQ(forgetter.peak().activations, of_rows);
    EXPECT_LT(keeper.peak().block_activations, predict_memory(plan::Recompute::none).activations);
}

INSTANTIATE_TEST_SUITE_P(Models, Recomputation, testing::ValuesIn(every_recompute_trial()),
                         [](const auto& trial) { return testing::PrintToString(trial.param); });

TEST(FullRecomputation, RejectsHalfBackwardPasses) {
    const model::ModelConfig config = config_of(list_small_models().front());
    const TokenRows rows(std::array{make_sample(config, 0, 5)});
    device::Stream stream{.backend = device::ReferenceStream{}};
    const StageMemory memory =
        predict(config, device::DType::f64, rows.shape(), BackwardHalves::together, plan::Recompute::full);
    WholeModel model(config, device::DType::f64, device::MemorySpace::host, memory, plan::Recompute::full);

    EXPECT_EQ(validation::catch_message<BugError>(
                  [&] { model.forward_backward(stream, rows.batch(), {}, BackwardHalves::apart); }),
              "a stage with full recomputation cannot execute half of a backward pass");
}

}  // namespace
}  // namespace trireme::stage
