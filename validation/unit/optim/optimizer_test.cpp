#include <cmath>
#include <limits>

#include "error_message.hpp"
#include "unit/optim/optimizer_on.hpp"

namespace trireme::optim {
namespace {

// With beta1 = 1/2 and beta2 = 3/4 the first step is exact: g = 1/2 4 = 2, the moments are 1 and 1, corrected 2
// and 4. The change is 1/4 2 / (2 + 2) = 1/8. Weight decay first multiplies by 1 - 1/4 1/2 = 7/8.
TEST_P(OptimizerBackend, TakesAnAdamWStepAndDecaysMatricesOnly) {
    Optimizer optimizer =
        optimizer_of({.weight_decay = 0.5, .beta1 = 0.5, .beta2 = 0.75, .epsilon = 2, .clip = 0});
    start(8, 4);

    optimizer.update(stream_, values_, gradients_, 0.25, 0.5);

    EXPECT_EQ(matrix(), 7 - 0.125);
    EXPECT_EQ(vector(), 8 - 0.125);
    EXPECT_EQ(numbers_of(gradients_[0]), (Numbers(4, 4)));
}

// The second step has no gradient: the moments are 1/2 and 3/4, the corrections 1 - 1/4 and 1 - 9/16.
TEST_P(OptimizerBackend, CorrectsAdamWMomentsByTheNumberOfSteps) {
    Optimizer optimizer =
        optimizer_of({.weight_decay = 0, .beta1 = 0.5, .beta2 = 0.75, .epsilon = 2, .clip = 0});
    start(8, 4);
    optimizer.update(stream_, values_, gradients_, 0.25, 0.5);
    start(8, 0);

    optimizer.update(stream_, values_, gradients_, 0.25, 0.5);

    const double change = 0.25 * (0.5 / 0.75) / (std::sqrt(0.75 / (7.0 / 16)) + 2);
    EXPECT_NEAR(vector(), 8 - change, 8 * rounding());
    EXPECT_NEAR(matrix(), 8 - change, 8 * rounding());
}

// In the first step g = 1/2 2 = 1, and the matrix adds 1/2 4 = 2 for its decay. In the second one the
// velocities are halved, and the matrix, now 3.25, adds 1.625.
TEST_P(OptimizerBackend, TakesTwoStepsWithMomentumAndDecaysMatricesOnly) {
    Optimizer optimizer =
        optimizer_of({.kind = OptimizerKind::sgd, .weight_decay = 0.5, .momentum = 0.5, .clip = 0});
    start(4, 2);

    optimizer.update(stream_, values_, gradients_, 0.25, 0.5);

    EXPECT_EQ(matrix(), 4 - 0.25 * 3);
    EXPECT_EQ(vector(), 4 - 0.25 * 1);

    optimizer.update(stream_, values_, gradients_, 0.25, 0.5);

    EXPECT_EQ(matrix(), 3.25 - 0.25 * (1.5 + 1 + 1.625));
    EXPECT_EQ(vector(), 3.75 - 0.25 * (0.5 + 1));
}

TEST_P(OptimizerBackend, FollowsTheGradientWithoutMomentum) {
    Optimizer optimizer =
        optimizer_of({.kind = OptimizerKind::sgd, .weight_decay = 0.5, .momentum = 0, .clip = 0});
    start(4, 2);

    optimizer.update(stream_, values_, gradients_, 0.25, 1);
    optimizer.update(stream_, values_, gradients_, 0.25, 1);

    EXPECT_EQ(vector(), 4 - 0.5 - 0.5);
    EXPECT_EQ(matrix(), 3 - 0.25 * (2 + 1.5));
}

TEST_P(OptimizerBackend, ChangesNothingAtRateZero) {
    for (const OptimizerKind kind : {OptimizerKind::adamw, OptimizerKind::sgd}) {
        Optimizer optimizer = optimizer_of({.kind = kind, .weight_decay = 0.5});
        start(3, 2);

        optimizer.update(stream_, values_, gradients_, 0, 1);

        EXPECT_EQ(matrix(), 3);
        EXPECT_EQ(vector(), 3);
    }
}

// The squares add up to 1 + 4 + 4 + 16 + 144 + 0 = 13 * 13.
TEST_P(OptimizerBackend, AddsTheSquaresOfAllGradients) {
    fill(gradients_[0], {1, -2, 2, 4});
    fill(gradients_[1], {-12, 0});

    EXPECT_EQ(sum_squares(make_whole_shards(matrix_and_vector)), 169);
    EXPECT_EQ(sum_squares(make_whole_shards(matrix_and_vector)), 169);  // nothing remains from the first call
}

TEST_P(OptimizerBackend, AddsTheSquaresOfTheGivenShardsOnly) {
    fill(gradients_[0], {1, -2, 2, 4});
    fill(gradients_[1], {-12, 5});

    EXPECT_EQ(sum_squares({}), 0);
    EXPECT_EQ(sum_squares({{0, {{1, 1}, {0, 2}}}}), 4 + 16);                         // a row
    EXPECT_EQ(sum_squares({{0, {{0, 2}, {1, 1}}}}), 4 + 16);                         // a column
    EXPECT_EQ(sum_squares({{1, {{0, 1}, {1, 1}}}, {0, {{0, 2}, {0, 1}}}}), 25 + 5);  // from both parameters
}

TEST_P(OptimizerBackend, SumsNonFiniteGradientsToANonFiniteValue) {
    for (const double bad :
         {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
        start(0, 1);
        fill(gradients_[1], {1, bad});
        EXPECT_FALSE(std::isfinite(sum_squares(make_whole_shards(matrix_and_vector))));
    }
}

TEST_P(OptimizerBackend, UpdatesOnlyElementsOfItsShards) {
    const std::vector<ParameterShard> right_column{{0, {{0, 2}, {1, 1}}}};
    Optimizer optimizer({.kind = OptimizerKind::sgd, .weight_decay = 0, .momentum = 0}, matrix_and_vector,
                        right_column, GetParam().dtype, device::MemorySpace::host);
    start(3, 2);

    optimizer.update(stream_, values_, gradients_, 0.5, 1);

    EXPECT_EQ(numbers_of(values_[0]), (Numbers{3, 2, 3, 2}));
    EXPECT_EQ(vector(), 3);
}

INSTANTIATE_TEST_SUITE_P(Machines, OptimizerBackend, ::testing::ValuesIn(every_machine()), name_of_machine);

std::size_t bytes_with(const OptimizerConfig& config, const std::vector<ParameterShard>& shards) {
    return Optimizer(config, matrix_and_vector, shards, device::DType::f32, device::MemorySpace::ghost).bytes();
}

TEST(OptimizerMemory, IsTwoMomentsOneVelocityOrNone) {
    const std::vector<ParameterShard> all = make_whole_shards(matrix_and_vector);
    const std::size_t one_of_each =
        model::ParameterTensors(matrix_and_vector, device::DType::f32, device::MemorySpace::ghost).bytes();

    EXPECT_EQ(bytes_with({.kind = OptimizerKind::sgd, .momentum = 0}, all), 0);
    EXPECT_EQ(bytes_with({.kind = OptimizerKind::sgd, .momentum = 0.9}, all), one_of_each);
    EXPECT_EQ(bytes_with({.kind = OptimizerKind::adamw}, all), 2 * one_of_each);
}

TEST(OptimizerMemory, CoversOnlyItsOwnShards) {
    const std::vector<model::ParameterSpec> large{{.name = "matrix", .rows = 64, .columns = 100}};
    const auto bytes_of_rows = [&](std::size_t rows) {
        const std::vector<ParameterShard> shards{{0, {{0, rows}, {0, 50}}}};
        return Optimizer({.kind = OptimizerKind::adamw}, large, shards, device::DType::f32,
                         device::MemorySpace::ghost)
            .bytes();
    };

    EXPECT_EQ(bytes_with({.kind = OptimizerKind::adamw}, {}), 0);
    EXPECT_EQ(bytes_of_rows(64), 2 * 64 * 50 * sizeof(float));
    EXPECT_EQ(bytes_of_rows(16), 2 * 16 * 50 * sizeof(float));
}

TEST(OptimizerMemory, IncludesABackupOfMomentsAndValues) {
    const std::vector<model::ParameterSpec> large{{.name = "matrix", .rows = 64, .columns = 100}};
    const std::vector<ParameterShard> half{{0, {{0, 64}, {0, 50}}}};
    const auto bytes_with_backup = [&](OptimizerKind kind) {
        return Optimizer({.kind = kind, .momentum = 0}, large, half, device::DType::f32,
                         device::MemorySpace::ghost, true)
            .bytes();
    };

    EXPECT_EQ(bytes_with_backup(OptimizerKind::adamw), (2 + 3) * 64 * 50 * sizeof(float));
    EXPECT_EQ(bytes_with_backup(OptimizerKind::sgd), (0 + 1) * 64 * 50 * sizeof(float));
}

TEST(Optimizer, RejectsAShardBeyondItsParameter) {
    const std::vector<ParameterShard> too_wide{{0, {{0, 2}, {1, 2}}}};

    const std::string message = validation::catch_message<BugError>(
        [&] { Optimizer({}, matrix_and_vector, too_wide, device::DType::f32, device::MemorySpace::host); });

    EXPECT_EQ(message,
              "a shard of matrix ends at row 2 and column 3, but this rank's slice has only 2 x 2 elements");
}

TEST_P(OptimizerBackend, GivesTheSameBitsForShardsOfRowsOrColumns) {
    for (const OptimizerConfig& config :
         {OptimizerConfig{.kind = OptimizerKind::adamw}, OptimizerConfig{.kind = OptimizerKind::sgd},
          OptimizerConfig{.kind = OptimizerKind::sgd, .momentum = 0}}) {
        const std::vector<Numbers> expected = updated(config, GetParam(), make_whole_shards(uneven));

        EXPECT_EQ(updated(config, GetParam(), by_rows()), expected);
        EXPECT_EQ(updated(config, GetParam(), by_columns()), expected);
    }
}

TEST_P(OptimizerBackend, LeavesNoTraceOfARolledBackUpdate) {
    for (const OptimizerConfig& config :
         {OptimizerConfig{.kind = OptimizerKind::adamw}, OptimizerConfig{.kind = OptimizerKind::sgd},
          OptimizerConfig{.kind = OptimizerKind::sgd, .momentum = 0}}) {
        for (const auto& shards : {make_whole_shards(uneven), by_rows(), by_columns()}) {
            EXPECT_EQ(updated(config, GetParam(), shards, Mistakes::rolled_back),
                      updated(config, GetParam(), shards));
        }
    }
}

// The parameter has more elements than a vector register or a thread's portion. The expected values follow the
// formula in double precision.
TEST(Optimizer, FollowsTheAdamWFormulaOverManyStepsAndElements) {
    const std::vector<model::ParameterSpec> specs{
        {.name = "m", .rows = 37, .columns = 1013, .has_weight_decay = true}};
    const OptimizerConfig config{.weight_decay = 0.1, .beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8};
    const std::size_t size = specs[0].size();
    for (const Backend backend : {Backend::reference, Backend::cpu}) {
        device::Stream stream = stream_on(backend);
        const model::ParameterTensors values(specs, device::DType::f64, device::MemorySpace::host);
        const model::ParameterTensors gradients(specs, device::DType::f64, device::MemorySpace::host);
        Optimizer optimizer(config, specs, make_whole_shards(specs), device::DType::f64,
                            device::MemorySpace::host);
        Numbers expected(size, 0.5), moment1(size), moment2(size), gradient(size);
        fill(values[0], expected);

        for (int step = 1; step <= 5; ++step) {
            for (std::size_t i = 0; i < size; ++i) gradient[i] = static_cast<double>((i * 7 + 13) % 23) - step;
            fill(gradients[0], gradient);
            optimizer.update(stream, values, gradients, 0.01, 0.25);
            for (std::size_t i = 0; i < size; ++i) {
                const double g = 0.25 * gradient[i];
                moment1[i] = 0.9 * moment1[i] + 0.1 * g;
                moment2[i] = 0.95 * moment2[i] + 0.05 * g * g;
                const double first = moment1[i] / (1 - std::pow(0.9, step));
                const double second = moment2[i] / (1 - std::pow(0.95, step));
                expected[i] = expected[i] * (1 - 0.01 * 0.1) - 0.01 * first / (std::sqrt(second) + 1e-8);
            }
        }

        const Numbers got = numbers_of(values[0]);
        for (std::size_t i = 0; i < size; ++i) ASSERT_NEAR(got[i], expected[i], 1e-13) << "element " << i;
    }
}

}  // namespace
}  // namespace trireme::optim
