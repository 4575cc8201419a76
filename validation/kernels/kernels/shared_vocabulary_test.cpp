// Compares losses, choices and gradients of a vocabulary that several ranks share with CrossEntropy of the
// full vocabulary.

#include "comparison.hpp"
#include "trireme/kernels/cross_entropy.hpp"
#include "trireme/kernels/logit_statistics.hpp"

namespace trireme::kernels {
namespace {

using Numbers = std::vector<double>;
using Widths = std::vector<std::size_t>;  // columns per rank

// A problem that CrossEntropy solves at once and ranks solve together.
struct Problem {
    std::size_t columns;
    Numbers logits;   // (rows, columns)
    Numbers targets;  // (rows)
    double smoothing = 0;

    CrossEntropy whole(Operands& t) const {
        return {.logits = t.numbers(targets.size(), columns, logits),
                .targets = t.numbers_of(device::DType::i32, 1, targets.size(), targets),
                .losses = t.unwritten_of(device::DType::f64, 1, targets.size()),
                .choices = t.numbers_of(device::DType::i32, 1, targets.size(), Numbers(targets.size(), -777)),
                .gradient_scale = 3,
                .smoothing = smoothing};
    }
};

struct Solution {
    Numbers losses;
    Numbers choices;
    Numbers log_sums;
    Numbers gradients;  // (rows, columns)
};

Solution solve_whole(const Problem& problem) {
    Operands t;
    const CrossEntropy op = problem.whole(t);
    run_reference(op);
    return {values(op.losses), values(op.choices), {}, values(op.logits)};
}

Solution solve_in_parts(device::Stream& stream, Operands& t, const Problem& problem, const Widths& widths) {
    const CrossEntropy whole = problem.whole(t);
    const std::size_t rows = whole.logits.rows;
    const device::Tensor parts = t.unwritten_of(device::DType::f64, widths.size() * rows, logit_field::count);
    const MergeLogitStatistics merged{.rank_statistics = parts,
                                      .targets = whole.targets,
                                      .log_sums = t.unwritten_of(device::DType::f64, 1, rows),
                                      .losses = whole.losses,
                                      .choices = whole.choices,
                                      .columns = whole.logits.columns,
                                      .smoothing = whole.smoothing};
    std::size_t begin = 0;
    for (std::size_t rank = 0; rank < widths.size(); begin += widths[rank++]) {
        launch(stream, LogitStatistics{.logits = whole.logits.column_range(begin, widths[rank]),
                                       .targets = whole.targets,
                                       .statistics = parts.row_range(rank * rows, rows),
                                       .first_column = begin});
    }
    launch(stream, merged);
    begin = 0;
    for (std::size_t rank = 0; rank < widths.size(); begin += widths[rank++]) {
        launch(stream, LogitGradients{.logits = whole.logits.column_range(begin, widths[rank]),
                                      .targets = whole.targets,
                                      .log_sums = merged.log_sums,
                                      .first_column = begin,
                                      .columns = whole.logits.columns,
                                      .gradient_scale = whole.gradient_scale,
                                      .smoothing = whole.smoothing});
    }
    EXPECT_TRUE(t.has_clean_gaps());
    return {values(whole.losses), values(whole.choices), values(merged.log_sums), values(whole.logits)};
}

void expect_near(const char* name, const Numbers& got, const Numbers& expected, double tolerance) {
    ASSERT_EQ(got.size(), expected.size());
    double largest = 0;
    for (const double value : expected) largest = std::max(largest, std::abs(value));
    for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_NEAR(got[i], expected[i], tolerance * largest) << name << ", element " << i;
    }
}

// `digits` is the loss of precision by large logits, as a factor of the tolerances.
void expect_same_in_parts(const Problem& problem, const std::vector<Widths>& cuts, double digits = 1) {
    const Solution expected = solve_whole(problem);
    for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
        for (device::Stream stream :
             {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{1}},
              device::Stream{device::CpuStream{2}}}) {
            for (const Widths& widths : cuts) {
                SCOPED_TRACE(
                    cat(to_string(dtype), ", backend ", stream.backend.index(), ", ", widths.size(), " parts"));
                Operands t(dtype, 3);
                const Solution got = solve_in_parts(stream, t, problem, widths);
                const double tolerance = tolerance_of(dtype) * (dtype == device::DType::f64 ? digits : 1);
                expect_near("losses", got.losses, expected.losses, tolerance);
                expect_near("gradients", got.gradients, expected.gradients, tolerance);
                EXPECT_EQ(got.choices, expected.choices);
            }
        }
    }
}

// Makes a random problem; every fifth row has no target.
Problem random_problem(std::size_t rows, std::size_t columns, double smoothing) {
    Operands t;
    const device::Tensor targets = t.indices(device::DType::i32, rows, columns);
    for (std::size_t r = 1; r < rows; r += 5) set(targets, 0, r, no_target);
    return {columns, values(t.random(rows, columns)), values(targets), smoothing};
}

TEST(SharedVocabulary, MatchesLossesAndGradientsOfTheFullVocabulary) {
    for (const double smoothing : {0.0, 0.1}) {
        SCOPED_TRACE(cat("smoothing ", smoothing));
        expect_same_in_parts(random_problem(17, 3001, smoothing),
                             {{3001}, {1501, 1500}, {1, 2999, 1}, {300, 700, 2001}});
        expect_same_in_parts(random_problem(40, 5, smoothing), {{5}, {2, 3}, {1, 1, 3}, {1, 1, 1, 1, 1}});
    }
}

TEST(SharedVocabulary, ChoosesTheFirstOfEqualLogitsOnAnyRank) {
    const Problem problem{
        4, {1, 3, 3, 2, 3, 1, 2, 3, 0, 0, 0, 0, 1, 2, 3, 4, -7, -8, -5, -5}, {0, 1, no_target, no_target, 3}};

    expect_same_in_parts(problem, {{4}, {2, 2}, {1, 2, 1}, {3, 1}, {1, 1, 1, 1}});
    EXPECT_EQ(solve_whole(problem).choices, (Numbers{1, 0, 0, 3, 2}));
}

// Logits near 1e4 in one row and near -1e4 in the next, in multiples of 1/512, which floats of that size can
// hold. The log of the sum, also about 1e4, is rounded at 1e-12.
TEST(SharedVocabulary, KeepsPrecisionForLargeLogits) {
    for (const double smoothing : {0.0, 0.1}) {
        Problem problem = random_problem(12, 9, smoothing);
        for (std::size_t i = 0; i < problem.logits.size(); ++i) {
            const double offset = i / 9 % 2 == 0 ? 1e4 : -1e4;
            problem.logits[i] = offset + std::round(512 * problem.logits[i]) / 512;
        }
        expect_same_in_parts(problem, {{9}, {4, 5}, {2, 6, 1}}, 10);
    }
}

// Logits from -1e4 to 1e4 in each row: exp() of the difference of two ranks' maxima underflows.
TEST(SharedVocabulary, HandlesLogitsOutsideTheRangeOfExp) {
    for (const double smoothing : {0.0, 0.1}) {
        Problem problem = random_problem(12, 100, smoothing);
        for (double& logit : problem.logits) logit = 8 * std::round(625 * logit);
        expect_same_in_parts(problem, {{100}, {1, 99}, {30, 30, 40}}, 10);
    }
}

// -infinity is not a logit of a model, but the unsplit vocabulary handles it, too.
TEST(SharedVocabulary, IgnoresPartsWhoseLogitsAreMinusInfinity) {
    constexpr double none = -infinity;
    const Problem problem{4, {none, none, 2, 2, 1, 1, none, none}, {2, no_target}};

    for (device::Stream stream :
         {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{}}}) {
        Operands t(device::DType::f32);
        const Solution got = solve_in_parts(stream, t, problem, {2, 2});

        EXPECT_FLOAT_EQ(static_cast<float>(got.losses[0]), std::log(2.0F));
        EXPECT_EQ(got.choices, (Numbers{2, 0}));
        expect_near("gradients", got.gradients, {0, 0, -1.5, 1.5, 0, 0, 0, 0}, float_tolerance);
    }
}

TEST(SharedVocabulary, PropagatesNaNFromAnyRankToTheLoss) {
    const Problem problem{4, {1, 2, nan, 3, nan, nan, nan, nan}, {0, 1}};

    for (device::Stream stream :
         {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{}}}) {
        Operands t(device::DType::f32);
        const Solution got = solve_in_parts(stream, t, problem, {2, 2});

        EXPECT_TRUE(std::isnan(got.losses[0]));
        EXPECT_TRUE(std::isnan(got.losses[1]));
        EXPECT_TRUE(std::isnan(got.gradients[0]));
        EXPECT_EQ(got.choices[1], 0);
    }
}

TEST(SharedVocabulary, ComputesLogSumsAlsoForRowsWithoutTarget) {
    const Problem problem{4, Numbers(8, 5), {1, no_target}};
    Operands t;
    device::Stream stream{device::ReferenceStream{}};

    const Solution got = solve_in_parts(stream, t, problem, {1, 3});

    expect_near("log_sums", got.log_sums, Numbers(2, 5 + std::log(4.0)), 1e-15);
    EXPECT_EQ(got.losses[1], 0);
}

}  // namespace
}  // namespace trireme::kernels
