// Gradients of whole models against finite differences, and their independence of how samples are put into
// micro-batches; with dropout on, which is a function of the sample and not of the draw.
#include <gtest/gtest.h>

#include <array>

#include "unit/stage/stage_numbers.hpp"
#include "unit/stage/token_rows.hpp"

namespace trireme {
namespace {

constexpr RandomKey dropout_key{77};

ModelConfig small_model(bool tied, double dropout) {
    return {.name = "small",
            .layers = 2,
            .width = 8,
            .heads = 2,
            .mlp_width = 20,
            .positions = 9,
            .vocabulary = 13,
            .tied = tied,
            .dropout = dropout};
}

// A number in [-1, 1) for each element of a named tensor.
double scattered(const std::string& name, std::size_t element) {
    const RandomBlock block = random_block(RandomKey{5}.then(name), element);
    return 2 * unit_interval(block[0]) - 1;
}

// Weights wide enough for every term to matter; the initial ones leave biases out.
void scatter_weights(const Stage& stage) {
    for (std::size_t i = 0; i < stage.parameters().size(); ++i) {
        const ParameterSpec& spec = stage.parameters()[i];
        std::vector<double> numbers(spec.size());
        for (std::size_t e = 0; e < spec.size(); ++e) {
            numbers[e] = (spec.init == Init::ones ? 1 : 0) + 0.5 * scattered(spec.name, e);
        }
        set_numbers(stage.values()[i], numbers);
    }
}

TokenSample make_sample(std::int64_t visit, std::size_t length) {
    TokenSample sample{.tokens = {}, .targets = {}, .visit = visit};
    for (std::size_t i = 0; i < length; ++i) {
        const RandomBlock block = random_block(RandomKey{9}.then(static_cast<std::uint64_t>(visit)), i);
        sample.tokens.push_back(static_cast<std::int32_t>(block[0] % 13));
        sample.targets.push_back(static_cast<std::int32_t>(block[1] % 13));
    }
    return sample;
}

struct Gradient {
    double loss = 0;  // sum over targets
    std::vector<std::vector<double>> tensors;
};

// Adds up what some micro-batches give.
Gradient gradient_over(const ModelConfig& config, const Stream& backend, const std::vector<TokenRows>& batches,
                       RandomKey key = dropout_key) {
    Stream stream = backend;
    Gradient sum;
    for (const TokenRows& rows : batches) {
        Stage stage = make_stage(config, DType::f64, rows.shape());
        scatter_weights(stage);
        sum.loss += stage.forward_backward(stream, rows.batch(), key, 1);
        sum.tensors.resize(stage.parameters().size());
        for (std::size_t i = 0; i < sum.tensors.size(); ++i) {
            const std::vector<double> part = numbers_of(stage.gradients()[i]);
            sum.tensors[i].resize(part.size());
            for (std::size_t e = 0; e < part.size(); ++e) sum.tensors[i][e] += part[e];
        }
    }
    return sum;
}

void expect_equal(const Gradient& gradient, const Gradient& expected, double bar) {
    EXPECT_LE(error_of({&gradient.loss, 1}, {&expected.loss, 1}), bar);
    ASSERT_EQ(gradient.tensors.size(), expected.tensors.size());
    for (std::size_t i = 0; i < expected.tensors.size(); ++i) {
        EXPECT_LE(error_of(gradient.tensors[i], expected.tensors[i]), bar) << "tensor " << i;
    }
}

struct Trial {
    const char* name;
    Stream stream;
    bool tied;

    friend void PrintTo(const Trial& trial, std::ostream* out) { *out << trial.name; }
};

class ModelGradient : public testing::TestWithParam<Trial> {
protected:
    Stream stream_ = GetParam().stream;
    const bool tied_ = GetParam().tied;
};

// d loss / d element from four values of the loss; the error falls with the fourth power of the step.
double slope(Stage& stage, Stream& stream, const TokenRows& rows, std::size_t tensor, std::size_t element) {
    constexpr double step = 1e-3;
    double* const address = static_cast<double*>(stage.values()[tensor].at(element));
    const double middle = *address;
    const auto loss_at = [&](double distance) {
        *address = middle + distance;
        const double loss = stage.forward_backward(stream, rows.batch(), dropout_key, 1);
        *address = middle;
        return loss;
    };
    return (8 * (loss_at(step) - loss_at(-step)) - (loss_at(2 * step) - loss_at(-2 * step))) / (12 * step);
}

TEST_P(ModelGradient, IsTheSlopeOfTheLossForEveryParameter) {
    const std::array samples{make_sample(3, 9), make_sample(4, 4)};
    const TokenRows rows(samples);
    Stage stage = make_stage(small_model(tied_, 0.1), DType::f64, rows.shape());
    scatter_weights(stage);
    stage.forward_backward(stream_, rows.batch(), dropout_key, 1);
    std::vector<std::vector<double>> gradients;
    for (std::size_t i = 0; i < stage.parameters().size(); ++i) {
        gradients.push_back(numbers_of(stage.gradients()[i]));
    }

    for (std::size_t i = 0; i < gradients.size(); ++i) {
        const std::vector<double>& gradient = gradients[i];
        const double typical = norm_of(gradient) / std::sqrt(static_cast<double>(gradient.size()));
        ASSERT_GT(typical, 0) << stage.parameters()[i].name;
        for (std::size_t e = 0; e < gradient.size(); e += 1 + gradient.size() / 8) {
            const double expected = slope(stage, stream_, rows, i, e);
            EXPECT_NEAR(gradient[e], expected, 1e-6 * std::max(std::abs(expected), typical))
                << stage.parameters()[i].name << ", element " << e;
        }
    }
}

TEST_P(ModelGradient, IsTheSameWithItsHalvesApart) {
    const std::array samples{make_sample(3, 9), make_sample(4, 4)};
    const TokenRows rows(samples);
    const ModelConfig config = small_model(tied_, 0.1);
    Stage stage = make_stage(config, DType::f64, rows.shape(), BackwardHalves::apart);
    scatter_weights(stage);

    Gradient apart{.loss = stage.forward_backward(stream_, rows.batch(), dropout_key, 1, BackwardHalves::apart),
                   .tensors = {}};

    for (std::size_t i = 0; i < stage.parameters().size(); ++i) {
        apart.tensors.push_back(numbers_of(stage.gradients()[i]));
    }
    expect_equal(apart, gradient_over(config, stream_, {rows}), 1e-12);
}

TEST_P(ModelGradient, AddsUpOverPassesAndFollowsTheLossScale) {
    const std::array samples{make_sample(3, 9)};
    const TokenRows rows(samples);
    const ModelConfig config = small_model(tied_, 0.1);
    Stage stage = make_stage(config, DType::f64, rows.shape());
    scatter_weights(stage);

    const double first = stage.forward_backward(stream_, rows.batch(), dropout_key, 0.25);
    const double second = stage.forward_backward(stream_, rows.batch(), dropout_key, 0.75);

    EXPECT_EQ(first, second);
    Gradient added{.loss = first, .tensors = {}};
    for (std::size_t i = 0; i < stage.parameters().size(); ++i) {
        added.tensors.push_back(numbers_of(stage.gradients()[i]));
    }
    expect_equal(added, gradient_over(config, stream_, {rows}), 1e-12);
}

TEST_P(ModelGradient, IsTheSameWithDropoutHoweverSamplesAreGrouped) {
    const std::vector<TokenSample> all{make_sample(0, 7), make_sample(1, 2), make_sample(1LL << 40, 9),
                                       make_sample(3, 5)};
    const std::vector<TokenSample> reversed(all.rbegin(), all.rend());
    const std::span<const TokenSample> samples(all);
    const ModelConfig config = small_model(tied_, 0.2);
    const Gradient expected = gradient_over(config, Stream{.backend = ReferenceStream{}}, {TokenRows(samples)});

    const auto expect_same = [&](const char* grouping, const std::vector<TokenRows>& batches) {
        SCOPED_TRACE(grouping);
        expect_equal(gradient_over(config, stream_, batches), expected, 1e-12);
    };
    expect_same("packed", {TokenRows(samples)});
    expect_same("padded", {TokenRows(samples, 9)});
    expect_same("in the opposite order", {TokenRows(reversed)});
    expect_same("2 + 2 packed", {TokenRows(samples.first(2)), TokenRows(samples.last(2))});
    expect_same("1 + 3 padded", {TokenRows(samples.first(1), 7), TokenRows(samples.last(3), 9)});
}

TEST_P(ModelGradient, FollowsTheDropoutKey) {
    const std::array samples{make_sample(3, 9)};
    const std::vector<TokenRows> batches{TokenRows(samples)};
    const ModelConfig config = small_model(tied_, 0.2);

    const double loss = gradient_over(config, stream_, batches).loss;
    const double other = gradient_over(config, stream_, batches, RandomKey{78}).loss;
    const double without = gradient_over(small_model(tied_, 0), stream_, batches).loss;

    EXPECT_GT(std::abs(loss - other), 1e-3);
    EXPECT_GT(std::abs(loss - without), 1e-3);
}

TEST_P(ModelGradient, IsOfTheLossThatEvaluationGivesWithoutDropout) {
    const std::array samples{make_sample(3, 9), make_sample(4, 4)};
    const TokenRows rows(samples);
    Stage stage = make_stage(small_model(tied_, 0.2), DType::f64, rows.shape());
    scatter_weights(stage);

    const double evaluated = stage.evaluate(stream_, rows.batch());

    const double trained = gradient_over(small_model(tied_, 0), stream_, {rows}).loss;
    EXPECT_LE(error_of({&evaluated, 1}, {&trained, 1}), 1e-12);
    EXPECT_EQ(norm_of(numbers_of(stage.gradients().all())), 0);
}

INSTANTIATE_TEST_SUITE_P(Backends, ModelGradient,
                         testing::Values(Trial{"reference_tied", {.backend = ReferenceStream{}}, true},
                                         Trial{"reference_untied", {.backend = ReferenceStream{}}, false},
                                         Trial{"cpu_tied", {.backend = CpuStream{}}, true},
                                         Trial{"cpu_untied", {.backend = CpuStream{}}, false}),
                         [](const auto& trial) { return trial.param.name; });

// A smaller micro-batch may be cut into larger tiles: 171 rows make two of 86, but 166 rows one of 166.
TEST(StageMemory, PredictedForALargeMicroBatchHoldsEverySmallerOne) {
    ModelConfig config = small_model(true, 0);
    config.layers = 1;
    config.width = 4;
    config.positions = 171;
    config.vocabulary = 50257;
    const TokenRows largest(std::vector{make_sample(0, 171)});
    const StageMemory enough = predict(config, DType::f64, largest.shape());

    for (std::size_t rows = 1; rows <= 171; ++rows) {
        const TokenRows smaller(std::vector{make_sample(0, rows)});
        const StageMemory needed = predict(config, DType::f64, smaller.shape());

        EXPECT_LE(needed.scratch, enough.scratch) << rows << " rows";
        EXPECT_LE(needed.activations, enough.activations) << rows << " rows";
    }
}

TEST(HeadGradient, IsTheSameWhereLogitsComeInSeveralTiles) {
    ModelConfig config = small_model(true, 0);
    config.layers = 1;
    config.width = 4;
    config.positions = 100;
    config.vocabulary = 50257;
    const std::vector<TokenSample> samples{make_sample(0, 100), make_sample(1, 71)};
    const Stream stream{.backend = CpuStream{}};
    ASSERT_LT(Head(config).tile_rows(DType::f64, 171), 100U);
    ASSERT_EQ(Head(config).tile_rows(DType::f64, 100), 100U);

    const Gradient tiled = gradient_over(config, stream, {TokenRows(samples)});

    const std::span<const TokenSample> all(samples);
    expect_equal(tiled, gradient_over(config, stream, {TokenRows(all.first(1)), TokenRows(all.last(1))}),
                 1e-12);
}

}  // namespace
}  // namespace trireme
