#include "trireme/kernels/logit_statistics.hpp"

#include "comparison.hpp"
#include "trireme/device/buffer.hpp"
#include "trireme/kernels/cross_entropy.hpp"

namespace trireme::kernels {
namespace {

using Numbers = std::vector<double>;

device::Tensor targets_of(Operands& t, const Numbers& content) {
    return t.numbers_of(device::DType::i32, 1, content.size(), content);
}

TEST(LogitStatistics, SummariseTheLogitsOfTheRanksOwnColumns) {
    for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
        for (device::Stream stream :
             {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{}}}) {
            Operands t(dtype, 2);
            const LogitStatistics op{.logits = t.numbers(4, 3, Numbers{5, 7, 7, 1, 1, 1, 2, 0, -2, 4, 4, 5}),
                                     .targets = targets_of(t, {11, no_target, 9, 13}),
                                     .statistics = t.unwritten_of(device::DType::f64, 4, logit_field::count),
                                     .first_column = 10};

            launch(stream, op);

            const Numbers expected{7,
                                   11,
                                   2 + std::exp(-2.0),
                                   19,
                                   7,  // this part has the target
                                   1,
                                   10,
                                   3,
                                   3,
                                   0,  //
                                   2,
                                   10,
                                   1 + std::exp(-2.0) + std::exp(-4.0),
                                   0,
                                   0,
                                   5,
                                   12,
                                   1 + 2 * std::exp(-1.0),
                                   13,
                                   0};
            const double tolerance =
                dtype == device::DType::f32 ? 1e-6 : 1e-14;  // a few units in the last place
            for (std::size_t i = 0; i < expected.size(); ++i) {
                EXPECT_NEAR(values(op.statistics)[i], expected[i], tolerance) << "element " << i;
            }
            EXPECT_TRUE(t.has_clean_gaps());
        }
    }
}

TEST(MergeLogitStatistics, ComputesLossesWithoutChoices) {
    for (device::Stream stream :
         {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{}}}) {
        Operands t;
        const MergeLogitStatistics op{.rank_statistics = t.numbers_of(device::DType::f64, 2, logit_field::count,
                                                                      {0, 0, 1, 0, 0, 0, 1, 1, 0, 0}),
                                      .targets = targets_of(t, {1}),
                                      .log_sums = t.unwritten_of(device::DType::f64, 1, 1),
                                      .losses = t.unwritten_of(device::DType::f64, 1, 1),
                                      .columns = 2};

        launch(stream, op);

        EXPECT_EQ(get(op.losses, 0, 0), std::log(2.0));
        EXPECT_EQ(get(op.log_sums, 0, 0), std::log(2.0));
    }
}

LogitStatistics described(Operands& t, std::size_t rows, std::size_t columns) {
    return {.logits = t.random(rows, columns),
            .targets = t.indices(device::DType::i32, rows, 2 * columns),
            .statistics = t.unwritten_of(device::DType::f64, rows, logit_field::count),
            .first_column = columns / 2};
}

LogitGradients differentiated(Operands& t, std::size_t rows, std::size_t columns, double smoothing) {
    const device::Tensor targets = t.indices(device::DType::i32, rows, 2 * columns);
    for (std::size_t r = 1; r < rows; r += 5) set(targets, 0, r, no_target);
    return {.logits = t.random(rows, columns),
            .targets = targets,
            .log_sums = t.numbers_of(device::DType::f64, 1, rows, Numbers(rows, 2.1)),
            .first_column = columns / 2,
            .columns = 2 * columns,
            .gradient_scale = 3,
            .smoothing = smoothing};
}

TEST(LogitStatistics, MatchReferenceOnCpu) {
    for_each_shape([](std::size_t rows, std::size_t columns) {
        expect_same_on_cpu([&](Operands& t) { return described(t, rows, columns); });
        for (const double smoothing : {0.0, 0.1}) {
            expect_same_on_cpu([&](Operands& t) { return differentiated(t, rows, columns, smoothing); });
        }
    });
}

TEST(LogitStatistics, DoNotDependOnTheNumberOfThreads) {
    expect_same_bits_on_any_threads([](Operands& t) { return described(t, 101, 1111); });
    expect_same_bits_on_any_threads([](Operands& t) { return differentiated(t, 101, 1111, 0.1); });
}

// A write to a ghost's address would crash the program.
TEST(LogitStatistics, CountBytesOnAGhostStreamWithoutTouchingMemory) {
    device::Arena arena("ghost", 0, device::MemorySpace::ghost);
    device::Stream stream{device::GhostStream{}};
    const device::Tensor logits = arena.tensor(device::DType::f32, 1 << 10, 1 << 12);
    const device::Tensor targets = arena.tensor(device::DType::i32, 1, 1 << 10);
    const device::Tensor statistics = arena.tensor(device::DType::f64, 1 << 10, logit_field::count);
    const device::Tensor parts = arena.tensor(device::DType::f64, 4 << 10, logit_field::count);
    const device::Tensor numbers = arena.tensor(device::DType::f64, 1, 1 << 10);

    launch(stream, LogitStatistics{logits, targets, statistics, 1 << 12});
    launch(stream, MergeLogitStatistics{parts, targets, numbers, numbers, {}, 4 << 12, 0});
    launch(stream, LogitGradients{logits, targets, numbers, 1 << 12, 4 << 12, 1, 0});

    ASSERT_EQ(stream.ledger.entries().size(), 3);
    EXPECT_EQ(stream.ledger.entries()[2].total_cost.bytes, 2 * 0x1p24 + 0x1p12 + 0x1p13);
}

template <class Op>
std::string sentence_of(const Op& op) {
    try {
        run_reference(op);
    } catch (const BugError& error) {
        return error.what();
    }
    return "nothing is wrong";
}

TEST(LogitStatistics, RejectTargetsOutsideTheVocabulary) {
    Operands t;
    const device::Tensor numbers = t.zeros(1, 2);
    const device::Tensor parts = t.zeros(4, logit_field::count);

    EXPECT_EQ(sentence_of(LogitStatistics{t.random(2, 5), targets_of(t, {4, -2}), t.zeros(2, 5), 0}),
              "logit_statistics: targets[1] is -2, not within -1 .. 2147483647");
    EXPECT_EQ(sentence_of(MergeLogitStatistics{parts, targets_of(t, {9, 10}), numbers, numbers, {}, 10}),
              "merge_logit_statistics: targets[1] is 10, not within -1 .. 9");
    EXPECT_EQ(sentence_of(LogitGradients{t.random(2, 5), targets_of(t, {10, 1}), numbers, 5, 10}),
              "logit_gradients: targets[0] is 10, not within -1 .. 9");
}

TEST(LogitStatistics, RejectMismatchedShapes) {
    Operands t(device::DType::f32);
    const device::Tensor pair = targets_of(t, {1, 2});

    EXPECT_EQ(
        refusal(LogitStatistics{t.random(2, 5), targets_of(t, {1}), t.unwritten_of(device::DType::f64, 2, 5)}),
        "logit_statistics: targets is i32 1 x 1, not i32 1 x 2");
    EXPECT_EQ(refusal(LogitStatistics{t.random(2, 5), pair, t.unwritten_of(device::DType::f64, 2, 4)}),
              "logit_statistics: statistics is f64 2 x 4, not f64 2 x 5");
    EXPECT_EQ(refusal(LogitStatistics{t.random(2, 0), pair, t.unwritten_of(device::DType::f64, 2, 5)}),
              "logit_statistics: logits has no columns, but every rank has part of the vocabulary");

    LogitGradients op{t.random(2, 5), pair, t.unwritten_of(device::DType::f64, 1, 2), 6, 10, 1};
    EXPECT_EQ(refusal(op), "logit_gradients: 5 columns from column 6 on do not fit into a vocabulary of 10");
    op.first_column = 5;
    op.smoothing = 1;
    EXPECT_EQ(refusal(op), "logit_gradients: a label smoothing of 1 is not in [0, 1)");
    op.smoothing = 0;
    op.log_sums = t.unwritten(1, 2);
    EXPECT_EQ(refusal(op), "logit_gradients: log_sums is f32 1 x 2, not f64 1 x 2");
}

TEST(MergeLogitStatistics, RejectsMismatchedShapes) {
    Operands t(device::DType::f64);
    const device::Tensor numbers = t.zeros(1, 2);
    MergeLogitStatistics op{t.zeros(3, logit_field::count), targets_of(t, {1, 2}), numbers, numbers, {}, 10};

    EXPECT_EQ(refusal(op), "merge_logit_statistics: parts has 3 rows, but needs exactly 2 rows per rank");
    op.rank_statistics = t.zeros(0, logit_field::count);
    EXPECT_EQ(refusal(op), "merge_logit_statistics: parts has 0 rows, but needs exactly 2 rows per rank");
    op.rank_statistics = t.zeros(4, logit_field::count);
    op.choices = numbers;
    EXPECT_EQ(refusal(op), "merge_logit_statistics: choices is f64 1 x 2, not i32 1 x 2");
    op.choices = {};
    op.columns = 0;
    EXPECT_EQ(refusal(op), "merge_logit_statistics: columns is 0, but a vocabulary has at least one token");
    op.columns = 10;
    op.smoothing = -0.5;
    EXPECT_EQ(refusal(op), "merge_logit_statistics: a label smoothing of -0.5 is not in [0, 1)");
    op.smoothing = 0.5;
    EXPECT_EQ(refusal(op), "nothing is wrong");
}

TEST(LogitStatistics, CountLogitBytesOnceAndGradientBytesTwice) {
    Operands t(device::DType::f32);
    const device::Tensor pair = targets_of(t, {1, 2});
    const device::Tensor numbers = t.unwritten_of(device::DType::f64, 1, 2);
    const device::Tensor statistics = t.unwritten_of(device::DType::f64, 2, 5);
    MergeLogitStatistics merge{t.unwritten_of(device::DType::f64, 6, 5), pair, numbers, numbers};

    EXPECT_EQ((LogitStatistics{t.random(2, 7), pair, statistics}.cost().bytes), 4 * (14 + 2) + 8 * 10);
    EXPECT_EQ((LogitGradients{t.random(2, 7), pair, numbers}.cost().bytes), 4 * (2 * 14 + 2) + 8 * 2);
    EXPECT_EQ(merge.cost().bytes, 4 * 2 + 8 * (30 + 2 + 2));
    merge.choices = pair;
    EXPECT_EQ(merge.cost().bytes, 4 * (2 + 2) + 8 * (30 + 2 + 2));
}

}  // namespace
}  // namespace trireme::kernels
