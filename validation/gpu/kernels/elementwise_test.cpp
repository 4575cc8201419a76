#include "kernels/cuda/support/elementwise.cuh"

#include <gtest/gtest.h>

#include <array>

#include "kernels/cuda/support/cached_rows.cuh"
#include "kernels/cuda/support/column_sums.cuh"

namespace trireme::kernels::gpu {
namespace {

TEST(VectorRows, EnumerateEachVectorOnceInRowMajorOrder) {
    for (const unsigned width : {1U, 2U, 8U}) {
        for (const std::size_t of_row : {1, 3, 40}) {
            unsigned number = 0;
            for_each_row_range(7, of_row, [&](const VectorRows& vectors) {
                EXPECT_EQ(vectors.count, 7 * of_row);
                for (std::size_t row = 0; row < 7; ++row) {
                    for (std::size_t column = 0; column < of_row * width; column += width) {
                        const VectorPosition place = vectors.find_position(number++, width);
                        ASSERT_EQ(place.row, row);
                        ASSERT_EQ(place.column, column);
                    }
                }
            });
            EXPECT_EQ(number, 7 * of_row);
        }
    }
}

TEST(VectorRows, SplitLargeMatricesIntoRangesThatAGridHolds) {
    constexpr std::size_t of_row = std::size_t{1} << 20;
    std::size_t rows = 0;
    for_each_row_range(5000, of_row, [&](const VectorRows& vectors) {
        EXPECT_EQ(vectors.first_row, rows);
        EXPECT_LE(vectors.count, max_blocks);
        EXPECT_EQ(vectors.find_position(vectors.count - 1, 4).column, 4 * (of_row - 1));
        rows = vectors.find_position(vectors.count - 1, 4).row + 1;
    });

    EXPECT_EQ(rows, 5000);
}

TEST(VectorRows, AreEmptyForMatricesWithoutRowsOrColumns) {
    const auto fail = [](const VectorRows&) { ADD_FAILURE(); };

    for_each_row_range(0, 2, fail);
    for_each_row_range(5, 0, fail);
    EXPECT_EQ(count_blocks(0, 256), 0);
}

TEST(Blocks, RejectCountsBeyondTheGridLimit) {
    EXPECT_EQ(count_blocks(max_blocks, 1), (1U << 31) - 1);
    try {
        count_blocks(max_blocks + 1, 1);
        FAIL();
    } catch (const BugError& error) {
        EXPECT_EQ(std::string(error.what()),
                  "a kernel needs 2147483648 blocks, but a grid has at most 2147483647");
    }
}

TEST(Vectors, RequireAlignedAddressStrideAndColumns) {
    alignas(16) std::array<float, 64> memory{};
    const auto view = [&](std::size_t first, std::size_t rows, std::size_t stride, std::size_t columns = 8) {
        return device::Elements<float>{memory.data() + first, rows, columns, stride};
    };

    EXPECT_TRUE(may_use_vectors<float>(view(0, 3, 8), view(4, 3, 12)));
    EXPECT_TRUE(may_use_vectors<float>(view(0, 1, 9)));  // the stride does not matter for a single row
    EXPECT_TRUE(may_use_vectors<float>(device::Elements<float>{}));
    EXPECT_FALSE(may_use_vectors<float>(view(0, 3, 8, 6)));
    EXPECT_FALSE(may_use_vectors<float>(view(1, 3, 8)));
    EXPECT_FALSE(may_use_vectors<float>(view(0, 3, 8), view(0, 3, 9)));
}

TEST(Vectors, RequireLessAlignmentForSmallerElements) {
    alignas(16) std::array<device::Bf16, 64> memory{};
    const auto view = [&](std::size_t first) {
        return device::Elements<device::Bf16>{memory.data() + first, 3, 8, 12};
    };

    EXPECT_TRUE(may_use_vectors<float>(view(4)));
    EXPECT_FALSE(may_use_vectors<float>(view(2)));
    EXPECT_FALSE(may_use_vectors<device::Bf16>(view(4)));
}

TEST(Vectors, HoldSixteenBytes) {
    EXPECT_EQ(sizeof(Vector<device::Bf16, vector_width<device::Bf16>>), 16);
    EXPECT_EQ(alignof(Vector<float, vector_width<float>>), 16);
    EXPECT_EQ(vector_width<double>, 2);
    visit_width<device::Bf16>(true, [](auto width) { EXPECT_EQ(width(), 8); });
    visit_width<device::Bf16>(false, [](auto width) { EXPECT_EQ(width(), 1); });
}

TEST(ColumnSums, HaveAtMost128Runs) {
    EXPECT_EQ(plan_run_rows(1), 64);
    EXPECT_EQ(plan_run_rows(8192), 64);
    EXPECT_EQ(plan_run_rows(8193), 65);
    for (const std::size_t rows : {1, 64, 65, 8191, 8192, 8193, 1000003})
        EXPECT_LE(divide_round_up(rows, plan_run_rows(rows)), 128) << rows;
}

unsigned find_team(std::size_t columns, bool may_use_vectors) {
    unsigned team = 0;
    visit_row_threads<float>(columns, may_use_vectors, [&](auto size, auto /*width*/) { team = size(); });
    return team;
}

TEST(CachedRows, UseAWarpIfTheRowFitsIntoItsRegisters) {
    EXPECT_EQ(find_team(512, true), warp_size);
    EXPECT_EQ(find_team(516, true), row_threads);
    EXPECT_EQ(find_team(128, false), warp_size);
    EXPECT_EQ(find_team(129, false), row_threads);
    EXPECT_EQ(make_row_grid(17, warp_size).blocks_x, 3);
    EXPECT_EQ(make_row_grid(17, row_threads).blocks_x, 17);
}

}  // namespace
}  // namespace trireme::kernels::gpu
