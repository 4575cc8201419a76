// Compares gradients of whole models with finite differences. Tests that they do not depend on how samples are
// grouped into micro-batches, with dropout on: its masks are a function of the sample, not of the draw.
#include <array>

#include "unit/stage/small_models.hpp"
#include "unit/stage/stage_numbers.hpp"

namespace trireme::stage {
namespace {

// Label smoothing affects only tasks with classes.
constexpr PassOptions in_training{.dropout_key = RandomKey{77}, .label_smoothing = 0.1};

struct Gradient {
    double loss = 0;  // sum over the micro-batches
    NamedNumbers tensors;

    void add(const WholeModel& stage, double more_loss) {
        loss += more_loss;
        for (const auto& [name, part] : read_gradients(stage)) {
            std::vector<double>& sum = tensors[name];
            sum.resize(part.size());
            for (std::size_t e = 0; e < part.size(); ++e) sum[e] += part[e];
        }
    }
};

// Adds up the gradients of some micro-batches.
Gradient gradient_over(const model::ModelConfig& config, const device::Stream& backend,
                       const std::vector<TokenRows>& batches, const PassOptions& options = in_training) {
    device::Stream stream = backend;
    Gradient sum;
    for (const TokenRows& rows : batches) {
        WholeModel stage = make_stage(config, device::DType::f64, rows.shape());
        scatter_weights(stage);
        sum.add(stage, stage.forward_backward(stream, rows.batch(), options));
    }
    return sum;
}

void expect_equal(const Gradient& gradient, const Gradient& expected, double bar) {
    EXPECT_LE(error_of({&gradient.loss, 1}, {&expected.loss, 1}), bar);
    ASSERT_EQ(gradient.tensors.size(), expected.tensors.size());
    for (const auto& [name, numbers] : expected.tensors) {
        const double floor = gradient_floor(expected.tensors, name);
        EXPECT_LE(error_of(gradient.tensors.at(name), numbers, floor), bar) << name;
    }
}

class ModelGradient : public testing::TestWithParam<Trial> {
protected:
    device::Stream stream_ = GetParam().stream;
    const model::ModelConfig config_ = config_of(GetParam().model);

    TokenSample sample(std::int64_t visit, std::size_t length) const {
        return make_sample(config_, visit, length);
    }
};

// Returns d loss / d element from four values of the loss. The error falls with the fourth power of the step.
double slope(WholeModel& stage, device::Stream& stream, const TokenRows& rows, std::size_t tensor,
             std::size_t element) {
    constexpr double step = 1e-3;
    double* const address = static_cast<double*>(stage.values()[tensor].at(element));
    const double middle = *address;
    const auto loss_at = [&](double distance) {
        *address = middle + distance;
        const double loss = stage.forward_backward(stream, rows.batch(), in_training);
        *address = middle;
        return loss;
    };
    return (8 * (loss_at(step) - loss_at(-step)) - (loss_at(2 * step) - loss_at(-2 * step))) / (12 * step);
}

TEST_P(ModelGradient, MatchesFiniteDifferencesForEveryParameter) {
    const TokenRows rows(std::array{sample(3, 9), sample(4, 4)});
    WholeModel stage = make_stage(config_, device::DType::f64, rows.shape());
    scatter_weights(stage);
    stage.forward_backward(stream_, rows.batch(), in_training);
    const NamedNumbers all = read_gradients(stage);

    for (std::size_t i = 0; i < stage.parameters().size(); ++i) {
        const std::string& name = stage.parameters()[i].name;
        const std::vector<double>& gradient = all.at(name);
        const double typical = norm_of(gradient) / std::sqrt(static_cast<double>(gradient.size()));
        EXPECT_EQ(is_only_rounding(all, name), is_without_effect(name, config_)) << name;
        const double least = is_only_rounding(all, name) ? 1e-3 * norm_of(all) : typical;
        for (std::size_t e = 0; e < gradient.size(); e += 1 + gradient.size() / 8) {
            const double expected = slope(stage, stream_, rows, i, e);
            EXPECT_NEAR(gradient[e], expected, 1e-6 * std::max(std::abs(expected), least))
                << name << ", element " << e;
        }
    }
}

TEST_P(ModelGradient, IsTheSameIfBackwardRunsInHalves) {
    const TokenRows rows(std::array{sample(3, 9), sample(4, 4)});
    WholeModel stage = make_stage(config_, device::DType::f64, rows.shape(), BackwardHalves::apart);
    scatter_weights(stage);

    Gradient apart;
    apart.add(stage, stage.forward_backward(stream_, rows.batch(), in_training, BackwardHalves::apart));

    expect_equal(apart, gradient_over(config_, stream_, {rows}), 1e-12);
}

TEST_P(ModelGradient, AccumulatesOverPassesWithTheirLossScales) {
    const TokenRows rows(std::array{sample(3, 9)});
    WholeModel stage = make_stage(config_, device::DType::f64, rows.shape());
    scatter_weights(stage);
    PassOptions options = in_training;

    options.loss_scale = 0.25;
    const double first = stage.forward_backward(stream_, rows.batch(), options);
    options.loss_scale = 0.75;
    const double second = stage.forward_backward(stream_, rows.batch(), options);

    EXPECT_EQ(first, second);
    Gradient added;
    added.add(stage, first);
    expect_equal(added, gradient_over(config_, stream_, {rows}), 1e-12);
}

TEST_P(ModelGradient, DoesNotDependOnHowSamplesAreGroupedWithDropout) {
    const std::vector<TokenSample> all{sample(0, 7), sample(1, 2), sample(1LL << 40, 9), sample(3, 5)};
    const std::vector<TokenSample> reversed(all.rbegin(), all.rend());
    const std::span<const TokenSample> samples(all);
    const Gradient expected =
        gradient_over(config_, device::Stream{.backend = device::ReferenceStream{}}, {TokenRows(samples)});

    const auto expect_same = [&](const char* grouping, const std::vector<TokenRows>& batches) {
        SCOPED_TRACE(grouping);
        expect_equal(gradient_over(config_, stream_, batches), expected, 1e-12);
    };
    expect_same("packed", {TokenRows(samples)});
    expect_same("in the opposite order", {TokenRows(reversed)});
    expect_same("2 + 2 packed", {TokenRows(samples.first(2)), TokenRows(samples.last(2))});
    if (config_.reads_images()) return;  // images have one length
    expect_same("padded", {TokenRows(samples, 9)});
    expect_same("1 + 3 padded", {TokenRows(samples.first(1), 7), TokenRows(samples.last(3), 9)});
}

TEST_P(ModelGradient, HasALossThatDependsOnTheDropoutKey) {
    const std::vector<TokenRows> batches{TokenRows(std::array{sample(3, 9)})};
    PassOptions options = in_training;
    options.dropout_key = RandomKey{78};

    const double loss = gradient_over(config_, stream_, batches).loss;
    const double other = gradient_over(config_, stream_, batches, options).loss;
    const double without = gradient_over(without_dropout(config_), stream_, batches).loss;

    EXPECT_GT(std::abs(loss - other), 1e-3);
    EXPECT_GT(std::abs(loss - without), 1e-3);
}

TEST_P(ModelGradient, HasTheEvaluationLossWithoutDropout) {
    const TokenRows rows(std::array{sample(3, 9), sample(4, 4)});
    WholeModel stage = make_stage(config_, device::DType::f64, rows.shape());
    scatter_weights(stage);

    const double evaluated = stage.evaluate(stream_, rows.batch()).loss;

    const double trained = gradient_over(without_dropout(config_), stream_, {rows}, {}).loss;
    EXPECT_LE(error_of({&evaluated, 1}, {&trained, 1}), 1e-12);
    EXPECT_EQ(norm_of(numbers_of(stage.gradients().all())), 0);
}

INSTANTIATE_TEST_SUITE_P(Models, ModelGradient, testing::ValuesIn(every_trial()),
                         [](const auto& trial) { return testing::PrintToString(trial.param); });

// Returns a model with few parameters whose logits need several tiles.
model::ModelConfig with_large_vocabulary(std::size_t positions) {
    model::ModelConfig config = without_dropout(config_of(list_small_models().front()));
    config.layers = 1;
    config.width = 4;
    config.positions = positions;
    config.vocabulary = 50257;
    return config;
}

// A smaller micro-batch may be cut into larger tiles: 171 rows make two of 86, but 166 rows make one of 166.
TEST(StageMemory, SufficesForEverySmallerMicrobatch) {
    const model::ModelConfig config = with_large_vocabulary(171);
    const TokenRows largest(std::array{make_sample(config, 0, 171)});
    const StageMemory enough = predict(config, device::DType::f64, largest.shape());

    for (std::size_t rows = 1; rows <= 171; ++rows) {
        const TokenRows smaller(std::array{make_sample(config, 0, rows)});
        const StageMemory needed = predict(config, device::DType::f64, smaller.shape());

        EXPECT_LE(needed.scratch, enough.scratch) << rows << " rows";
        EXPECT_LE(needed.activations, enough.activations) << rows << " rows";
    }
}

// Each of two ranks holds half of the vocabulary: 340 rows make two tiles of 170, but 333 rows make one.
TEST(StageMemory, SufficesForSmallerMicrobatchesOnARankOfATeam) {
    const model::ModelConfig config = with_large_vocabulary(340);
    const StageSpec head{.layers = {build_layers(config).size() - 1, 1}, .part = {.rank = 0, .shares = {1, 1}}};
    for (const bool cuts_rows : {false, true}) {
        const PassVariant kind{.dtype = device::DType::f64, .cuts_rows = cuts_rows};
        const TokenRows largest(std::array{make_sample(config, 0, 340)});
        const StageMemory enough = predict(config, head, largest.shape(), kind);

        for (std::size_t rows = 320; rows <= 340; ++rows) {
            const TokenRows smaller(std::array{make_sample(config, 0, rows)});
            const StageMemory needed = predict(config, head, smaller.shape(), kind);

            EXPECT_LE(needed.scratch, enough.scratch) << rows << " rows";
            EXPECT_LE(needed.exchange, enough.exchange) << rows << " rows";
        }
    }
}

TEST(HeadGradient, IsTheSameForLogitsInSeveralTiles) {
    const model::ModelConfig config = with_large_vocabulary(100);
    const std::vector<TokenSample> samples{make_sample(config, 0, 100), make_sample(config, 1, 71)};
    const device::Stream stream{.backend = device::CpuStream{}};
    const model::Head head(config, model::TensorPart{});
    ASSERT_LT(head.compute_tile_rows(device::DType::f64, 171), 100U);
    ASSERT_EQ(head.compute_tile_rows(device::DType::f64, 100), 100U);

    const Gradient tiled = gradient_over(config, stream, {TokenRows(samples)});

    const std::span<const TokenSample> all(samples);
    expect_equal(tiled, gradient_over(config, stream, {TokenRows(all.first(1)), TokenRows(all.last(1))}),
                 1e-12);
}

}  // namespace
}  // namespace trireme::stage
