#include "trireme/kernels/columns.hpp"

#include "comparison.hpp"
#include "trireme/kernels/linear.hpp"

namespace trireme::kernels {
namespace {

using Numbers = std::vector<double>;

TEST(GatherColumns, CopiesColumnsInTheOrderOfTheIndices) {
    for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
        for (device::Stream stream :
             {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{}}}) {
            Operands t(dtype, 2);
            const GatherColumns op{.input = t.numbers(2, 3, {1, 2, 3, 4, 5, 6}),
                                   .columns = t.i32_vector({2, 0, 2}),
                                   .output = t.unwritten(2, 3)};

            launch(stream, op);

            EXPECT_EQ(values(op.output), (Numbers{3, 1, 3, 6, 4, 6}));
            EXPECT_TRUE(t.has_clean_gaps());
        }
    }
}

// The operation writes columns 3 and 0; the means of the rows are 2 and 6.
TEST(ScatterColumns, FillsUnlistedColumnsAndAccumulatesOnRequest) {
    const std::vector<std::pair<UnindexedFill, Numbers>> written{
        {UnindexedFill::keep, {3, 20, 30, 1, 7, 60, 70, 5}},
        {UnindexedFill::zero, {3, 0, 0, 1, 7, 0, 0, 5}},
        {UnindexedFill::mean, {3, 2, 2, 1, 7, 6, 6, 5}}};
    const std::vector<std::pair<UnindexedFill, Numbers>> added{
        {UnindexedFill::keep, {13, 20, 30, 41, 57, 60, 70, 85}},
        {UnindexedFill::zero, {13, 20, 30, 41, 57, 60, 70, 85}},
        {UnindexedFill::mean, {13, 22, 32, 41, 57, 66, 76, 85}}};
    for (const bool accumulate : {false, true}) {
        for (const auto& [unindexed_fill, expected] : accumulate ? added : written) {
            for (device::Stream stream :
                 {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{}}}) {
                Operands t(device::DType::f32, 2);
                const ScatterColumns op{.input = t.numbers(2, 2, {1, 3, 5, 7}),
                                        .columns = t.i32_vector({3, 0}),
                                        .output = t.numbers(2, 4, {10, 20, 30, 40, 50, 60, 70, 80}),
                                        .unindexed_fill = unindexed_fill,
                                        .accumulate = accumulate};

                launch(stream, op);

                EXPECT_EQ(values(op.output), expected);
                EXPECT_TRUE(t.has_clean_gaps());
            }
        }
    }
}

GatherColumns some_columns(Operands& t, std::size_t rows, std::size_t count) {
    return {.input = t.random(rows, 40),
            .columns = t.indices(device::DType::i32, count, 40),
            .output = t.unwritten(rows, count)};
}

// Scatters to every fourth column, in descending order.
ScatterColumns spread_columns(Operands& t, std::size_t rows, std::size_t count, UnindexedFill unindexed_fill,
                              bool accumulate) {
    Numbers columns;
    for (std::size_t i = 0; i < count; ++i) columns.push_back(static_cast<double>(4 * (count - 1 - i)));
    return {.input = t.random(rows, count),
            .columns = t.i32_vector(columns),
            .output = t.random(rows, 4 * count),
            .unindexed_fill = unindexed_fill,
            .accumulate = accumulate};
}

TEST(Columns, MatchReferenceOnCpu) {
    for_each_shape([](std::size_t rows, std::size_t count) {
        expect_same_on_cpu([&](Operands& t) { return some_columns(t, rows, count); });
        for (const UnindexedFill unindexed_fill :
             {UnindexedFill::keep, UnindexedFill::zero, UnindexedFill::mean}) {
            for (const bool accumulate : {false, true}) {
                expect_same_on_cpu(
                    [&](Operands& t) { return spread_columns(t, rows, count, unindexed_fill, accumulate); });
            }
        }
    });
}

TEST(Columns, DoNotDependOnTheNumberOfThreads) {
    expect_same_bits_on_any_threads([](Operands& t) { return some_columns(t, 1400, 101); });
    for (const UnindexedFill unindexed_fill : {UnindexedFill::keep, UnindexedFill::zero, UnindexedFill::mean}) {
        expect_same_bits_on_any_threads(
            [&](Operands& t) { return spread_columns(t, 1400, 101, unindexed_fill, true); });
    }
}

// The column that is not written becomes zero.
TEST(Columns, AreRestoredByScatterAfterGather) {
    device::Stream stream{device::ReferenceStream{}};
    Operands t;
    const device::Tensor names = t.i32_vector({0, 2, 3});
    const device::Tensor table = t.random(5, 4), taken = t.unwritten(5, 3), back = t.unwritten(5, 4);

    launch(stream, GatherColumns{table, names, taken});
    launch(stream, ScatterColumns{taken, names, back, UnindexedFill::zero});

    for (std::size_t r = 0; r < 5; ++r) {
        for (std::size_t c = 0; c < 4; ++c) EXPECT_EQ(get(back, r, c), c == 1 ? 0 : get(table, r, c));
    }
}

TEST(Columns, RejectOutOfRangeOrDuplicateIndices) {
    Operands t;
    const device::Tensor table = t.random(2, 3);

    EXPECT_EQ(find_index_refusal(GatherColumns{table, t.i32_vector({0, 3}), t.unwritten(2, 2)}),
              "gather_columns: columns[1] is 3, not within 0 .. 2");
    EXPECT_EQ(find_index_refusal(ScatterColumns{t.random(2, 2), t.i32_vector({-1, 0}), table}),
              "scatter_columns: columns[0] is -1, not within 0 .. 2");
    EXPECT_EQ(find_index_refusal(ScatterColumns{t.random(2, 3), t.i32_vector({2, 1, 2}), table}),
              "scatter_columns: columns[2] is 2, as is an earlier element");
}

TEST(Columns, RejectMismatchedShapes) {
    Operands t(device::DType::f32);
    const device::Tensor pair = t.i32_vector({0, 1});

    EXPECT_EQ(refusal(GatherColumns{t.random(4, 3), pair, t.unwritten(2, 2)}),
              "gather_columns: input is f32 4 x 3, not f32 2 x 3");
    EXPECT_EQ(refusal(GatherColumns{t.random(4, 3), pair, t.unwritten(4, 3)}),
              "gather_columns: columns is i32 1 x 2, not i32 1 x 3");
    EXPECT_EQ(refusal(ScatterColumns{t.random(4, 3), pair, t.unwritten(4, 5)}),
              "scatter_columns: columns is i32 1 x 2, not i32 1 x 3");
    EXPECT_EQ(refusal(ScatterColumns{t.random(4, 2), pair, t.unwritten(3, 5)}),
              "scatter_columns: output is f32 3 x 5, not f32 4 x 5");
    EXPECT_EQ(refusal(ScatterColumns{t.random(4, 0), t.i32_vector({}), t.unwritten(4, 5), UnindexedFill::mean}),
              "scatter_columns: none of 5 rows or columns is indexed, so they cannot be filled with the mean");
}

TEST(Columns, CountBytesReadAndWritten) {
    Operands t(device::DType::f32);
    const device::Tensor pair = t.i32_vector({0, 1});
    const device::Tensor two = t.random(3, 2), nine = t.random(3, 9);

    EXPECT_EQ((GatherColumns{nine, pair, two}.cost().bytes), 4 * (2 + 2 * 6));
    EXPECT_EQ((ScatterColumns{two, pair, nine}.cost().bytes), 4 * (2 + 2 * 6));
    EXPECT_EQ((ScatterColumns{two, pair, nine, UnindexedFill::zero}.cost().bytes), 4 * (2 + 6 + 27));
    EXPECT_EQ((ScatterColumns{two, pair, nine, UnindexedFill::mean, true}.cost().bytes), 4 * (2 + 6 + 2 * 27));
}

// Three channels with two outputs each: |2 - 1| + |4 - 6| = 3 and so on, added to the present values.
TEST(ChannelChange, AddsAbsoluteWeightChangesPerChannel) {
    for (device::Stream stream :
         {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{}}}) {
        for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
            Operands t(dtype, 2);
            const ChannelChange rows{.weight = t.numbers(3, 2, {2, 4, 0, 0, -1, 1}),
                                     .old_weight = t.numbers(3, 2, {1, 6, 0, 0, 1, 0.5}),
                                     .change = t.numbers_of(device::DType::f64, 1, 3, {10, 0, 0})};
            const ChannelChange columns{.weight = t.numbers(2, 3, {2, 0, -1, 4, 0, 1}),
                                        .old_weight = t.numbers(2, 3, {1, 0, 1, 6, 0, 0.5}),
                                        .change = t.numbers_of(device::DType::f64, 1, 3, {10, 0, 0}),
                                        .axes = WeightAxes::out_in};

            launch(stream, rows);
            launch(stream, columns);

            EXPECT_EQ(values(rows.change), (Numbers{13, 0, 2.5}));
            EXPECT_EQ(values(columns.change), (Numbers{13, 0, 2.5}));
        }
    }
}

ChannelChange some_change(Operands& t, std::size_t rows, std::size_t columns, WeightAxes axes) {
    const std::size_t channels = axes == WeightAxes::in_out ? rows : columns;
    return {.weight = t.random(rows, columns),
            .old_weight = t.random(rows, columns),
            .change = t.numbers_of(device::DType::f64, 1, channels, Numbers(channels, 0.0)),
            .axes = axes};
}

TEST(ChannelChange, MatchesReferenceOnCpuWithAnyThreadCount) {
    for (const WeightAxes axes : {WeightAxes::in_out, WeightAxes::out_in}) {
        for_each_shape([&](std::size_t rows, std::size_t columns) {
            expect_same_on_cpu([&](Operands& t) { return some_change(t, rows, columns, axes); });
        });
        expect_same_bits_on_any_threads([&](Operands& t) { return some_change(t, 1400, 101, axes); });
    }
}

TEST(ChannelChange, RejectsMismatchedShapes) {
    Operands t(device::DType::f32);
    const device::Tensor weight = t.random(2, 3);
    const device::Tensor three = t.numbers_of(device::DType::f64, 1, 3, {0, 0, 0});

    EXPECT_EQ(refusal(ChannelChange{weight, weight, three}),
              "channel_change: change is f64 1 x 3, not f64 1 x 2");
    EXPECT_EQ(refusal(ChannelChange{weight, t.random(3, 3), three, WeightAxes::out_in}),
              "channel_change: before is f32 3 x 3, not f32 2 x 3");
    EXPECT_EQ((ChannelChange{weight, weight, three, WeightAxes::out_in}.cost().bytes), 2 * 24 + 2 * 24);
}

}  // namespace
}  // namespace trireme::kernels
