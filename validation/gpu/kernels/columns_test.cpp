#include "trireme/kernels/columns.hpp"

#include "gpu_comparison.hpp"
#include "trireme/kernels/linear.hpp"

namespace trireme {
namespace {

using Numbers = std::vector<double>;

kernels::GatherColumns some_columns(GpuOperands& t, std::size_t rows, std::size_t count) {
    return {.input = t.random(rows, 40),
            .columns = t.indices(device::DType::i32, count, 40),
            .output = t.unwritten(rows, count)};
}

// Scatters to every third column, in descending order.
kernels::ScatterColumns spread_columns(GpuOperands& t, std::size_t rows, std::size_t count,
                                       kernels::UnindexedFill unindexed_fill, bool accumulate) {
    Numbers columns;
    for (std::size_t i = 0; i < count; ++i) columns.push_back(static_cast<double>(3 * (count - 1 - i)));
    const bool reads_all = accumulate || unindexed_fill == kernels::UnindexedFill::keep;
    return {.input = t.random(rows, count),
            .columns = t.numbers_of(device::DType::i32, 1, count, columns),
            .output = reads_all ? t.random(rows, 3 * count) : t.unwritten(rows, 3 * count),
            .unindexed_fill = unindexed_fill,
            .accumulate = accumulate};
}

TEST(GpuBackend, MatchesReferenceForGatherColumns) {
    for_each_gpu_shape([](std::size_t rows, std::size_t count) {
        expect_same_on_gpu([&](GpuOperands& t) { return some_columns(t, rows, count); });
    });
}

TEST(GpuBackend, MatchesReferenceForScatterColumns) {
    constexpr std::array<std::array<std::size_t, 2>, 4> shapes{{{1, 1}, {7, 6}, {3, 64}, {2, 257}}};
    for (const auto& [rows, count] : shapes) {
        for (const kernels::UnindexedFill unindexed_fill :
             {kernels::UnindexedFill::keep, kernels::UnindexedFill::zero, kernels::UnindexedFill::mean}) {
            for (const bool accumulate : {false, true}) {
                SCOPED_TRACE(cat("unnamed ", static_cast<int>(unindexed_fill), ", accumulate ", accumulate));
                expect_same_on_gpu([&, rows = rows, count = count](GpuOperands& t) {
                    return spread_columns(t, rows, count, unindexed_fill, accumulate);
                });
            }
        }
    }
}

TEST(GpuBackend, MovesNoColumnsForAnEmptyList) {
    device::Stream stream = kernels::make_gpu_stream();
    GpuOperands t = GpuOperands::of_gpu(stream, device::DType::f32, 0);
    const device::Tensor none = t.numbers_of(device::DType::i32, 1, 0, {});
    const device::Tensor table = t.numbers(2, 2, {1, 2, 3, 4});
    const device::Tensor cleared = t.unwritten(2, 2);
    const device::Tensor pair = t.numbers_of(device::DType::i32, 1, 2, {4, 1});

    launch(stream, kernels::GatherColumns{.input = table, .columns = none, .output = t.unwritten(2, 0)});
    launch(stream,
           kernels::GatherColumns{.input = t.random(0, 5), .columns = pair, .output = t.unwritten(0, 2)});
    launch(stream, kernels::ScatterColumns{.input = t.random(2, 0), .columns = none, .output = table});
    launch(stream, kernels::ScatterColumns{t.random(2, 0), none, cleared, kernels::UnindexedFill::zero});
    for (const kernels::UnindexedFill unindexed_fill :
         {kernels::UnindexedFill::keep, kernels::UnindexedFill::zero, kernels::UnindexedFill::mean})
        launch(stream, kernels::ScatterColumns{t.random(0, 2), pair, t.unwritten(0, 5), unindexed_fill});

    EXPECT_EQ(kernels::values(t.results()[1]), (Numbers{1, 2, 3, 4}));
    EXPECT_EQ(kernels::values(t.results()[2]), (Numbers{0, 0, 0, 0}));
}

kernels::ChannelChange some_change(GpuOperands& t, std::size_t rows, std::size_t columns,
                                   kernels::WeightAxes axes) {
    const std::size_t channels = axes == kernels::WeightAxes::in_out ? rows : columns;
    return {.weight = t.random(rows, columns),
            .old_weight = t.random(rows, columns),
            .change = t.numbers_of(device::DType::f64, 1, channels, Numbers(channels, 0.5)),
            .axes = axes};
}

TEST(GpuBackend, MatchesReferenceForChannelChange) {
    for (const kernels::WeightAxes axes : {kernels::WeightAxes::in_out, kernels::WeightAxes::out_in}) {
        for_each_gpu_shape([&](std::size_t rows, std::size_t columns) {
            expect_same_on_gpu([&](GpuOperands& t) { return some_change(t, rows, columns, axes); });
        });
    }
}

}  // namespace
}  // namespace trireme
