#include "trireme/kernels/logit_statistics.hpp"

#include "gpu_comparison.hpp"
#include "loss_operands.hpp"

namespace trireme {
namespace {

TEST(GpuBackend, MatchesReferenceForLogitStatistics) {
    for (const std::size_t columns : {1, 33, 257}) {
        SCOPED_TRACE(cat(columns, " columns"));
        expect_same_on_gpu([&](GpuOperands& t) {
            return kernels::LogitStatistics{
                .logits = t.random(6, columns),
                .targets = t.numbers_of(device::DType::i32, 1, 6, some_targets(6, 2 * columns)),
                .statistics = t.unwritten_of(device::DType::f64, 6, kernels::logit_field::count),
                .first_column = columns / 2};
        });
    }
}

TEST(GpuBackend, MatchesReferenceForLogitGradients) {
    for (const std::size_t columns : {1, 33, 257}) {
        for (const double smoothing : {0.0, 0.1}) {
            SCOPED_TRACE(cat(columns, " columns, smoothing ", smoothing));
            expect_same_on_gpu([&](GpuOperands& t) {
                return kernels::LogitGradients{
                    .logits = t.random(6, columns),
                    .targets = t.numbers_of(device::DType::i32, 1, 6, some_targets(6, 2 * columns)),
                    .log_sums = t.numbers_of(device::DType::f64, 1, 6, {2.1, 3, 4.5, 2.2, 2.3, 10}),
                    .first_column = columns / 2,
                    .columns = 2 * columns,
                    .gradient_scale = 3,
                    .smoothing = smoothing};
            });
        }
    }
}

// Merges the statistics of a row from ranks that hold slices of these widths; gradients are not included.
kernels::MergeLogitStatistics merged(GpuOperands& t, std::size_t rows, const std::vector<std::size_t>& widths,
                                     double smoothing, bool has_choices) {
    std::size_t columns = 0;
    for (const std::size_t width : widths) columns += width;
    const std::vector<double> targets = some_targets(rows, columns);
    const device::Tensor parts =
        t.unwritten_of(device::DType::f64, widths.size() * rows, kernels::logit_field::count);
    std::size_t begin = 0;
    for (std::size_t rank = 0; rank < widths.size(); begin += widths[rank++]) {
        t.run(kernels::LogitStatistics{.logits = t.random(rows, widths[rank]),
                                       .targets = t.numbers_of(device::DType::i32, 1, rows, targets),
                                       .statistics = parts.row_range(rank * rows, rows),
                                       .first_column = begin});
    }
    return {.rank_statistics = parts,
            .targets = t.numbers_of(device::DType::i32, 1, rows, targets),
            .log_sums = t.unwritten_of(device::DType::f64, 1, rows),
            .losses = t.unwritten_of(device::DType::f64, 1, rows),
            .choices = has_choices ? unchosen(t, 1, rows) : device::Tensor{},
            .columns = columns,
            .smoothing = smoothing};
}

TEST(GpuBackend, MatchesReferenceForMergedLogitStatistics) {
    for (const std::vector<std::size_t>& widths : {std::vector<std::size_t>{9}, {1, 70, 3}}) {
        SCOPED_TRACE(cat(widths.size(), " ranks"));
        expect_same_on_gpu([&](GpuOperands& t) { return merged(t, 7, widths, 0.1, true); });
    }
    expect_same_on_gpu([](GpuOperands& t) { return merged(t, 3, {2, 3}, 0, false); });
    expect_same_on_gpu([](GpuOperands& t) { return merged(t, 0, {2, 3}, 0, true); });
}

// Results on the GPU for a vocabulary that two ranks share.
struct Shared {
    std::vector<double> losses;
    std::vector<double> choices;
    std::vector<double> gradients;
};

Shared solve_on_gpu(device::DType dtype, std::size_t columns, std::size_t cut,
                    const std::vector<double>& logits, const std::vector<double>& targets, double smoothing) {
    const std::size_t rows = targets.size();
    device::Stream stream = kernels::make_gpu_stream();
    GpuOperands t = GpuOperands::of_gpu(stream, dtype, 3);
    const device::Tensor whole = t.numbers(rows, columns, logits);
    const device::Tensor wanted = t.numbers_of(device::DType::i32, 1, rows, targets);
    const device::Tensor parts = t.unwritten_of(device::DType::f64, 2 * rows, kernels::logit_field::count);
    const device::Tensor log_sums = t.unwritten_of(device::DType::f64, 1, rows);
    const device::Tensor losses = t.unwritten_of(device::DType::f64, 1, rows);
    const device::Tensor choices = unchosen(t, 1, rows);
    const auto own = [&](std::size_t rank) {
        return rank == 0 ? whole.column_range(0, cut) : whole.column_range(cut, columns - cut);
    };
    for (const std::size_t rank : {0, 1}) {
        launch(stream,
               kernels::LogitStatistics{own(rank), wanted, parts.row_range(rank * rows, rows), rank * cut});
    }
    launch(stream, kernels::MergeLogitStatistics{parts, wanted, log_sums, losses, choices, columns, smoothing});
    for (const std::size_t rank : {0, 1}) {
        launch(stream, kernels::LogitGradients{own(rank), wanted, log_sums, rank * cut, columns, 3, smoothing});
    }
    const std::vector<device::Tensor> results = t.results();
    EXPECT_TRUE(t.has_clean_gaps());
    return {kernels::values(results[4]), kernels::values(results[5]), kernels::values(results[0])};
}

Shared solve_whole(std::size_t columns, const std::vector<double>& logits, const std::vector<double>& targets,
                   double smoothing) {
    GpuOperands t = GpuOperands::for_reference(device::DType::f64);
    const kernels::CrossEntropy op{.logits = t.numbers(targets.size(), columns, logits),
                                   .targets = t.numbers_of(device::DType::i32, 1, targets.size(), targets),
                                   .losses = t.unwritten_of(device::DType::f64, 1, targets.size()),
                                   .choices = unchosen(t, 1, targets.size()),
                                   .gradient_scale = 3,
                                   .smoothing = smoothing};
    run_reference(op);
    return {kernels::values(op.losses), kernels::values(op.choices), kernels::values(op.logits)};
}

void expect_near(const std::vector<double>& got, const std::vector<double>& expected, double tolerance) {
    double largest = 0;
    for (const double value : expected) largest = std::max(largest, std::abs(value));
    for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_NEAR(got[i], expected[i], tolerance * largest) << "element " << i;
    }
}

// Logits near 1e4 in one row and near -1e4 in the next, in multiples of 1/512, which floats of that size can
// hold. The log of the sum, also about 1e4, is rounded at 1e-12.
TEST(GpuBackend, MatchesTheUnsplitVocabularyForLargeLogits) {
    constexpr std::size_t columns = 9;
    std::vector<double> logits;
    for (std::size_t i = 0; i < 6 * columns; ++i) {
        const double offset = i / columns % 2 == 0 ? 1e4 : -1e4;
        logits.push_back(offset + static_cast<double>(i * 37 % 101) / 512);
    }
    const std::vector<double> targets = some_targets(6, columns);
    for (const device::DType dtype : {device::DType::f64, device::DType::f32}) {
        for (const double smoothing : {0.0, 0.1}) {
            const Shared expected = solve_whole(columns, logits, targets, smoothing);

            const Shared got = solve_on_gpu(dtype, columns, 4, logits, targets, smoothing);

            const double tolerance = dtype == device::DType::f64 ? 1e-11 : gpu_tolerance(dtype);
            expect_near(got.losses, expected.losses, tolerance);
            expect_near(got.gradients, expected.gradients, tolerance);
            EXPECT_EQ(got.choices, expected.choices);
        }
    }
}

TEST(GpuBackend, ChoosesTheFirstOfEqualLogitsAcrossRanks) {
    const std::vector<double> logits{1, 3, 3, 2, 3, 1, 2, 3, 0, 0, 0, 0, 1, 2, 3, 4, -7, -8, -5, -5};
    for (const device::DType dtype : {device::DType::f64, device::DType::f32, device::DType::bf16}) {
        for (const std::size_t cut : {1, 2, 3}) {
            const Shared got =
                solve_on_gpu(dtype, 4, cut, logits, {0, 1, kernels::no_target, kernels::no_target, 3}, 0);

            EXPECT_EQ(got.choices, (std::vector<double>{1, 0, 0, 3, 2}));
        }
    }
}

// -infinity is not a logit of a model, but the unsplit vocabulary handles it, too.
TEST(GpuBackend, IgnoresVocabularySlicesOfNegativeInfinity) {
    for (const device::DType dtype : {device::DType::f64, device::DType::f32, device::DType::bf16}) {
        const Shared got = solve_on_gpu(
            dtype, 4, 2,
            {-kernels::infinity, -kernels::infinity, 2, 2, 1, 1, -kernels::infinity, -kernels::infinity},
            {2, kernels::no_target}, 0);

        EXPECT_NEAR(got.losses[0], std::log(2.0), 1e-7);
        EXPECT_EQ(got.choices, (std::vector<double>{2, 0}));
        expect_near(got.gradients, {0, 0, -1.5, 1.5, 0, 0, 0, 0}, gpu_tolerance(dtype));
    }
}

TEST(GpuBackend, ReturnsNaNLossForNaNLogitsOnAnyRank) {
    const Shared got = solve_on_gpu(
        device::DType::f32, 4, 2,
        {1, 2, kernels::nan, 3, kernels::nan, kernels::nan, kernels::nan, kernels::nan}, {0, 1}, 0);

    EXPECT_TRUE(std::isnan(got.losses[0]));
    EXPECT_TRUE(std::isnan(got.losses[1]));
    EXPECT_TRUE(std::isnan(got.gradients[0]));
    EXPECT_EQ(got.choices[1], 0);
}

}  // namespace
}  // namespace trireme
