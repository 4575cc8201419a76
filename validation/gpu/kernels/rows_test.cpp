#include "trireme/kernels/rows.hpp"

#include "gpu_comparison.hpp"
#include "trireme/device/buffer.hpp"
#include "trireme/kernels/read.hpp"

namespace trireme {
namespace {

using Numbers = std::vector<double>;

kernels::GatherRows some_rows(GpuOperands& t, std::size_t count, std::size_t channels) {
    return {.input = t.random(40, channels),
            .rows = t.indices(device::DType::i32, count, 40),
            .output = t.unwritten(count, channels)};
}

// Scatters to every third row, in descending order.
kernels::ScatterRows spread_rows(GpuOperands& t, std::size_t count, std::size_t channels,
                                 kernels::UnindexedFill unindexed_fill, bool accumulate) {
    Numbers rows;
    for (std::size_t i = 0; i < count; ++i) rows.push_back(static_cast<double>(3 * (count - 1 - i)));
    const bool reads_all = accumulate || unindexed_fill == kernels::UnindexedFill::keep;
    return {.input = t.random(count, channels),
            .rows = t.numbers_of(device::DType::i32, 1, count, rows),
            .output = reads_all ? t.random(3 * count, channels) : t.unwritten(3 * count, channels),
            .unindexed_fill = unindexed_fill,
            .accumulate = accumulate};
}

TEST(GpuBackend, MatchesReferenceForGatherRows) {
    for_each_gpu_shape([](std::size_t rows, std::size_t channels) {
        expect_same_on_gpu([&](GpuOperands& t) { return some_rows(t, rows, channels); });
    });
}

TEST(GpuBackend, MatchesReferenceForScatterRows) {
    constexpr std::array<std::array<std::size_t, 2>, 4> shapes{{{1, 1}, {7, 6}, {3, 64}, {2, 257}}};
    for (const auto& [rows, channels] : shapes) {
        for (const kernels::UnindexedFill unindexed_fill :
             {kernels::UnindexedFill::keep, kernels::UnindexedFill::zero, kernels::UnindexedFill::mean}) {
            for (const bool accumulate : {false, true}) {
                SCOPED_TRACE(cat("unnamed ", static_cast<int>(unindexed_fill), ", accumulate ", accumulate));
                expect_same_on_gpu([&, rows = rows, channels = channels](GpuOperands& t) {
                    return spread_rows(t, rows, channels, unindexed_fill, accumulate);
                });
            }
        }
    }
}

// More rows than a single thread sums.
TEST(GpuBackend, MatchesReferenceForTheMeanOfManyRows) {
    expect_same_on_gpu(
        [](GpuOperands& t) { return spread_rows(t, 300, 6, kernels::UnindexedFill::mean, false); });
}

TEST(GpuBackend, CopiesBetweenAllTypes) {
    constexpr std::array all{device::DType::f32, device::DType::f64, device::DType::bf16};
    for (const device::DType from : all) {
        for (const device::DType to : all) {
            for (const auto& [rows, columns, gap] : {std::array{1, 1, 0}, {5, 6, 3}, {5, 64, 0}, {3, 64, 8}}) {
                SCOPED_TRACE(cat(to_string(from), " to ", to_string(to), ", ", rows, " x ", columns));
                device::Stream stream = kernels::make_gpu_stream();
                GpuOperands t = GpuOperands::of_gpu(stream, from, static_cast<std::size_t>(gap));
                const auto height = static_cast<std::size_t>(rows);
                const auto width = static_cast<std::size_t>(columns);
                launch(stream, kernels::Copy{t.random(height, width), t.unwritten_of(to, height, width)});

                const std::vector<device::Tensor> results = t.results();
                kernels::Operands expected;
                EXPECT_EQ(kernels::values(results[1]),
                          kernels::values(expected.numbers_of(to, height, width, kernels::values(results[0]))));
                EXPECT_TRUE(t.has_clean_gaps());
            }
        }
    }
}

TEST(GpuBackend, MovesNoRowsForAnEmptyList) {
    device::Stream stream = kernels::make_gpu_stream();
    GpuOperands t = GpuOperands::of_gpu(stream, device::DType::f32, 0);
    const device::Tensor none = t.numbers_of(device::DType::i32, 1, 0, {});
    const device::Tensor table = t.numbers(2, 2, {1, 2, 3, 4});
    const device::Tensor cleared = t.unwritten(2, 2);

    launch(stream, kernels::GatherRows{.input = table, .rows = none, .output = t.unwritten(0, 2)});
    launch(stream, kernels::ScatterRows{.input = t.random(0, 2), .rows = none, .output = table});
    launch(stream, kernels::ScatterRows{.input = t.random(0, 2),
                                        .rows = none,
                                        .output = cleared,
                                        .unindexed_fill = kernels::UnindexedFill::zero});
    launch(stream, kernels::Copy{t.random(0, 2), t.unwritten(0, 2)});

    EXPECT_EQ(kernels::values(t.results()[1]), (Numbers{1, 2, 3, 4}));
    EXPECT_EQ(kernels::values(t.results()[2]), (Numbers{0, 0, 0, 0}));
}

TEST(GpuBackend, CopiesRowsToAndFromHostMemory) {
    device::Stream stream = kernels::make_gpu_stream();
    GpuOperands t = GpuOperands::of_gpu(stream, device::DType::f32, 3);
    const device::Tensor a = t.numbers(2, 2, {1, 2, 3, 4});
    const device::Tensor b = t.unwritten(2, 2);
    std::array<float, 5> memory{};
    const device::Tensor here{memory.data(), device::DType::f32, 2, 2, 3};

    copy_rows(a, here);
    EXPECT_EQ(memory, (std::array<float, 5>{1, 2, 0, 3, 4}));
    memory[4] = 5;
    copy_rows(here, a);
    copy_rows(a, b);

    EXPECT_EQ(kernels::values(t.results()[1]), (Numbers{1, 2, 3, 5}));
    EXPECT_TRUE(t.has_clean_gaps());
}

TEST(GpuBackend, ReadsWhatTheStreamHasWritten) {
    for (const device::DType dtype : {device::DType::f32, device::DType::f64, device::DType::bf16}) {
        for (const std::size_t gap : {0, 3}) {
            SCOPED_TRACE(cat(to_string(dtype), ", gaps of ", gap));
            device::Stream stream = kernels::make_gpu_stream();
            GpuOperands t = GpuOperands::of_gpu(stream, dtype, gap);
            const kernels::Copy copy{t.numbers(2, 3, {1, -2, 3, 0.5, 5, -6}), t.unwritten(2, 3)};
            const device::Tensor sums = t.numbers_of(device::DType::f64, 1, 3, {1, 0.25, -4});
            const device::Tensor numbers = t.numbers_of(device::DType::i32, 2, 2, {1, -2, 3, 4});

            launch(stream, copy);

            EXPECT_EQ(kernels::read_values(stream, copy.output), (Numbers{1, -2, 3, 0.5, 5, -6}));
            EXPECT_EQ(kernels::read_sum(stream, sums), -2.75);
            EXPECT_EQ(kernels::read_integers(stream, numbers), (std::vector<std::int32_t>{1, -2, 3, 4}));
        }
    }
}

}  // namespace
}  // namespace trireme
