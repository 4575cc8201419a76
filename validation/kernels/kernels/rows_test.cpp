#include "trireme/kernels/rows.hpp"

#include "comparison.hpp"
#include "trireme/kernels/read.hpp"

namespace trireme::kernels {
namespace {

using Numbers = std::vector<double>;

TEST(GatherRows, CopiesRowsInTheOrderOfTheIndices) {
    for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
        for (device::Stream stream :
             {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{}}}) {
            Operands t(dtype, 2);
            const GatherRows op{.input = t.numbers(3, 2, {1, 2, 3, 4, 5, 6}),
                                .rows = t.i32_vector({2, 0, 2, 1}),
                                .output = t.unwritten(4, 2)};

            launch(stream, op);

            EXPECT_EQ(values(op.output), (Numbers{5, 6, 1, 2, 5, 6, 3, 4}));
            EXPECT_TRUE(t.has_clean_gaps());
        }
    }
}

TEST(ScatterRows, KeepsTheOtherRows) {
    for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
        for (device::Stream stream :
             {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{}}}) {
            Operands t(dtype, 2);
            const ScatterRows op{.input = t.numbers(2, 2, {1, 2, 3, 4}),
                                 .rows = t.i32_vector({3, 0}),
                                 .output = t.numbers(4, 2, {10, 20, 30, 40, 50, 60, 70, 80})};

            launch(stream, op);

            EXPECT_EQ(values(op.output), (Numbers{3, 4, 30, 40, 50, 60, 1, 2}));
            EXPECT_TRUE(t.has_clean_gaps());
        }
    }
}

// The operation writes rows 3 and 0; their mean is 2, 3.
TEST(ScatterRows, FillsUnlistedRowsAndAccumulatesOnRequest) {
    const std::vector<std::pair<UnindexedFill, Numbers>> written{
        {UnindexedFill::keep, {3, 4, 30, 40, 50, 60, 1, 2}},
        {UnindexedFill::zero, {3, 4, 0, 0, 0, 0, 1, 2}},
        {UnindexedFill::mean, {3, 4, 2, 3, 2, 3, 1, 2}}};
    const std::vector<std::pair<UnindexedFill, Numbers>> added{
        {UnindexedFill::keep, {13, 24, 30, 40, 50, 60, 71, 82}},
        {UnindexedFill::zero, {13, 24, 30, 40, 50, 60, 71, 82}},
        {UnindexedFill::mean, {13, 24, 32, 43, 52, 63, 71, 82}}};
    for (const bool accumulate : {false, true}) {
        for (const auto& [unindexed_fill, expected] : accumulate ? added : written) {
            for (device::Stream stream :
                 {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{}}}) {
                Operands t(device::DType::f32, 2);
                const ScatterRows op{.input = t.numbers(2, 2, {1, 2, 3, 4}),
                                     .rows = t.i32_vector({3, 0}),
                                     .output = t.numbers(4, 2, {10, 20, 30, 40, 50, 60, 70, 80}),
                                     .unindexed_fill = unindexed_fill,
                                     .accumulate = accumulate};

                launch(stream, op);

                EXPECT_EQ(values(op.output), expected);
                EXPECT_TRUE(t.has_clean_gaps());
            }
        }
    }
}

TEST(Rows, StayUnchangedForAnEmptyIndexList) {
    for (device::Stream stream :
         {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{2}}}) {
        Operands t;
        const device::Tensor none = t.i32_vector({});
        const device::Tensor table = t.numbers(2, 2, {1, 2, 3, 4});

        launch(stream, GatherRows{.input = table, .rows = none, .output = t.unwritten(0, 2)});
        launch(stream, ScatterRows{.input = t.random(0, 2), .rows = none, .output = table});

        EXPECT_EQ(values(table), (Numbers{1, 2, 3, 4}));
    }
}

TEST(Copy, RoundsToTheTypeOfItsOutput) {
    constexpr double third = 1.0 / 3;
    for (device::Stream stream :
         {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{}}}) {
        for (const std::size_t gap : {0, 3}) {
            Operands t(device::DType::f64, gap);
            const Copy narrow{.input = t.numbers(2, 2, {third, 1, -2.5, 0x1p-30}),
                              .output = t.unwritten_of(device::DType::f32, 2, 2)};
            const Copy wide{.input = narrow.output, .output = t.unwritten(2, 2)};

            launch(stream, narrow);
            launch(stream, wide);

            const Numbers rounded{static_cast<float>(third), 1, -2.5, 0x1p-30};
            EXPECT_EQ(values(narrow.output), rounded);
            EXPECT_EQ(values(wide.output), rounded);
            EXPECT_TRUE(t.has_clean_gaps());
        }
    }
}

// Scatters to every fourth row, in descending order.
ScatterRows spread_rows(Operands& t, std::size_t count, std::size_t channels,
                        UnindexedFill unindexed_fill = UnindexedFill::keep, bool accumulate = false) {
    Numbers rows;
    for (std::size_t i = 0; i < count; ++i) rows.push_back(static_cast<double>(4 * (count - 1 - i)));
    return {.input = t.random(count, channels),
            .rows = t.i32_vector(rows),
            .output = t.random(4 * count, channels),
            .unindexed_fill = unindexed_fill,
            .accumulate = accumulate};
}

GatherRows some_rows(Operands& t, std::size_t count, std::size_t channels) {
    return {.input = t.random(40, channels),
            .rows = t.indices(device::DType::i32, count, 40),
            .output = t.unwritten(count, channels)};
}

TEST(Rows, MatchReferenceOnCpu) {
    for_each_shape([](std::size_t rows, std::size_t channels) {
        expect_same_on_cpu([&](Operands& t) { return some_rows(t, rows, channels); });
        for (const UnindexedFill unindexed_fill :
             {UnindexedFill::keep, UnindexedFill::zero, UnindexedFill::mean}) {
            for (const bool accumulate : {false, true}) {
                expect_same_on_cpu(
                    [&](Operands& t) { return spread_rows(t, rows, channels, unindexed_fill, accumulate); });
            }
        }
        for (const device::DType to : {device::DType::f32, device::DType::f64}) {
            expect_same_on_cpu([&](Operands& t) {
                return Copy{t.random(rows, channels), t.unwritten_of(to, rows, channels)};
            });
        }
    });
}

TEST(Rows, DoNotDependOnTheNumberOfThreads) {
    expect_same_bits_on_any_threads([](Operands& t) { return some_rows(t, 1400, 101); });
    for (const UnindexedFill unindexed_fill : {UnindexedFill::keep, UnindexedFill::zero, UnindexedFill::mean}) {
        expect_same_bits_on_any_threads(
            [&](Operands& t) { return spread_rows(t, 1400, 101, unindexed_fill, true); });
    }
    for (const device::DType to : {device::DType::f32, device::DType::f64}) {
        expect_same_bits_on_any_threads([&](Operands& t) {
            return Copy{t.random(1400, 101), t.unwritten_of(to, 1400, 101)};
        });
        expect_same_bits_on_any_threads([&](Operands& t) {
            return Copy{t.random(1, 140'001), t.unwritten_of(to, 1, 140'001)};
        });
    }
}

TEST(Rows, RejectOutOfRangeOrDuplicateIndices) {
    Operands t;
    const device::Tensor table = t.random(3, 2);

    EXPECT_EQ(find_index_refusal(GatherRows{table, t.i32_vector({0, 3}), t.unwritten(2, 2)}),
              "gather_rows: rows[1] is 3, not within 0 .. 2");
    EXPECT_EQ(find_index_refusal(ScatterRows{t.random(2, 2), t.i32_vector({-1, 0}), table}),
              "scatter_rows: rows[0] is -1, not within 0 .. 2");
    EXPECT_EQ(find_index_refusal(ScatterRows{t.random(3, 2), t.i32_vector({2, 1, 2}), table}),
              "scatter_rows: rows[2] is 2, as is an earlier element");
}

TEST(Rows, RejectMismatchedShapes) {
    Operands t(device::DType::f32);
    const device::Tensor pair = t.i32_vector({0, 1});

    EXPECT_EQ(refusal(GatherRows{t.random(4, 3), pair, t.unwritten(2, 2)}),
              "gather_rows: input is f32 4 x 3, not f32 4 x 2");
    EXPECT_EQ(refusal(GatherRows{t.random(4, 2), pair, t.unwritten(3, 2)}),
              "gather_rows: rows is i32 1 x 2, not i32 1 x 3");
    EXPECT_EQ(refusal(ScatterRows{t.random(3, 2), pair, t.unwritten(4, 2)}),
              "scatter_rows: rows is i32 1 x 2, not i32 1 x 3");
    EXPECT_EQ(refusal(ScatterRows{t.random(2, 2), pair, t.unwritten_of(device::DType::f64, 4, 2)}),
              "scatter_rows: output is f64 4 x 2, not f32 4 x 2");
    EXPECT_EQ(refusal(ScatterRows{t.random(0, 2), t.i32_vector({}), t.unwritten(4, 2), UnindexedFill::mean}),
              "scatter_rows: none of 4 rows or columns is indexed, so they cannot be filled with the mean");
    EXPECT_EQ(refusal(Copy{t.random(2, 3), t.unwritten_of(device::DType::f64, 3, 2)}),
              "copy: output is f64 3 x 2, not f64 2 x 3");
    EXPECT_EQ(refusal(Copy{pair, t.unwritten(1, 2)}), "copy: is defined for f32, f64 and bf16, not for i32");
    EXPECT_EQ(refusal(Copy{t.random(1, 2), pair}), "copy: is defined for f32, f64 and bf16, not for i32");
}

TEST(Rows, CountBytesReadAndWritten) {
    Operands t(device::DType::f32);
    const device::Tensor pair = t.i32_vector({0, 1});

    EXPECT_EQ((GatherRows{t.random(9, 3), pair, t.unwritten(2, 3)}.cost().bytes), 4 * (2 + 2 * 6));
    EXPECT_EQ((ScatterRows{t.random(2, 3), pair, t.unwritten(9, 3)}.cost().bytes), 4 * (2 + 2 * 6));
    const device::Tensor two = t.random(2, 3), nine = t.random(9, 3);
    EXPECT_EQ((ScatterRows{two, pair, nine, UnindexedFill::keep, true}.cost().bytes), 4 * (2 + 3 * 6));
    EXPECT_EQ((ScatterRows{two, pair, nine, UnindexedFill::zero}.cost().bytes), 4 * (2 + 6 + 27));
    EXPECT_EQ((ScatterRows{two, pair, nine, UnindexedFill::zero, true}.cost().bytes), 4 * (2 + 3 * 6));
    EXPECT_EQ((ScatterRows{two, pair, nine, UnindexedFill::mean, true}.cost().bytes), 4 * (2 + 6 + 2 * 27));
    EXPECT_EQ((Copy{t.random(2, 3), t.unwritten_of(device::DType::f64, 2, 3)}.cost().bytes), 4 * 6 + 8 * 6);
}

TEST(ReadNumbers, ReturnsElementsRowByRow) {
    Operands t(device::DType::f32, 3);
    const device::Tensor numbers = t.numbers_of(device::DType::i32, 2, 3, {1, -2, 3, 4, 5, -6});
    for (device::Stream stream :
         {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{}}}) {
        EXPECT_EQ(read_integers(stream, numbers), (std::vector<std::int32_t>{1, -2, 3, 4, 5, -6}));
    }
}

TEST(ReadValues, ReturnsElementsRowByRowAndNothingForGhostTensors) {
    Operands t(device::DType::f32, 3);
    const device::Tensor numbers = t.numbers(2, 2, {1, -2, 3, 0.5});
    for (device::Stream stream :
         {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{}}}) {
        EXPECT_EQ(read_values(stream, numbers), (Numbers{1, -2, 3, 0.5}));
        EXPECT_EQ(read_values(stream, t.numbers_of(device::DType::bf16, 1, 2, {1.5, -2})), (Numbers{1.5, -2}));
    }
    device::Stream ghost{device::GhostStream{}};
    EXPECT_TRUE(read_values(ghost, {nullptr, device::DType::f32, 2, 3, 3}).empty());
}

// Reading the address would crash the program.
TEST(ReadNumbers, ReturnsNothingForGhostTensors) {
    device::Stream stream{device::GhostStream{}};

    EXPECT_TRUE(read_integers(stream, {nullptr, device::DType::i32, 2, 3, 3}).empty());
}

TEST(ReadNumbers, RejectsNonIntegerTensors) {
    Operands t(device::DType::f32);
    device::Stream stream{device::ReferenceStream{}};

    EXPECT_THROW(read_integers(stream, t.random(1, 2)), BugError);
}

}  // namespace
}  // namespace trireme::kernels
