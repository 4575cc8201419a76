#include "kernels/cuda/elementwise.cuh"

#include <gtest/gtest.h>

#include <array>

#include "kernels/cuda/kept_rows.cuh"
#include "kernels/cuda/vector_sums.cuh"

namespace trireme::gpu {
namespace {

TEST(VectorOrder, VisitsEveryVectorOnceRowByRow) {
    for (const unsigned width : {1U, 2U, 8U}) {
        for (const std::size_t of_row : {1, 3, 40}) {
            const VectorOrder order{.rows = 7, .columns = of_row * width, .width = width};
            std::size_t number = 0;
            for (std::size_t row = 0; row < 7; ++row) {
                for (std::size_t column = 0; column < order.columns; column += width) {
                    const VectorPlace place = order.place(number++);
                    ASSERT_EQ(place.row, row);
                    ASSERT_EQ(place.column, column);
                }
            }
            EXPECT_EQ(order.count(), number);
        }
    }
}

TEST(VectorOrder, CountsBeyond32Bits) {
    const VectorOrder order{.rows = std::size_t{3} << 31, .columns = 6, .width = 2};

    EXPECT_EQ(order.count(), std::size_t{9} << 31);
    EXPECT_EQ(order.place(order.count() - 1).row, order.rows - 1);
    EXPECT_EQ(order.place(order.count() - 1).column, 4);
}

TEST(VectorOrder, OfNothingIsEmpty) {
    EXPECT_EQ((VectorOrder{.rows = 0, .columns = 8, .width = 4}.count()), 0);
    EXPECT_EQ((VectorOrder{.rows = 5, .columns = 0, .width = 4}.count()), 0);
    EXPECT_EQ(blocks_for(0, 256), 0);
}

TEST(VectorOrder, RefusesMoreBlocksThanThereAre) {
    EXPECT_EQ(blocks_for((std::size_t{1} << 31) - 1, 1), (1U << 31) - 1);
    try {
        blocks_for(std::size_t{1} << 31, 1);
        FAIL();
    } catch (const BugError& error) {
        EXPECT_EQ(std::string(error.what()), "a kernel was asked for 2147483648 blocks of 1 threads");
    }
}

TEST(Vectors, FitWhereAddressStrideAndColumnsAllowThem) {
    alignas(16) std::array<float, 64> memory{};
    const auto view = [&](std::size_t first, std::size_t rows, std::size_t stride) {
        return Elements<float>{memory.data() + first, rows, 8, stride};
    };

    EXPECT_TRUE(has_vectors<float>(8, view(0, 3, 8), view(4, 3, 12)));
    EXPECT_TRUE(has_vectors<float>(8, view(0, 1, 9)));  // no row comes after the first
    EXPECT_TRUE(has_vectors<float>(8, Elements<float>{}));
    EXPECT_FALSE(has_vectors<float>(6, view(0, 3, 8)));
    EXPECT_FALSE(has_vectors<float>(8, view(1, 3, 8)));
    EXPECT_FALSE(has_vectors<float>(8, view(0, 3, 8), view(0, 3, 9)));
}

TEST(Vectors, HoldSixteenBytes) {
    EXPECT_EQ(sizeof(Vector<Bf16, vector_width<Bf16>>), 16);
    EXPECT_EQ(alignof(Vector<float, vector_width<float>>), 16);
    EXPECT_EQ(vector_width<double>, 2);
    visit_width<Bf16>(true, [](auto width) { EXPECT_EQ(width(), 8); });
    visit_width<Bf16>(false, [](auto width) { EXPECT_EQ(width(), 1); });
}

TEST(VectorSums, HaveAtMost128Runs) {
    EXPECT_EQ(rows_of_sum_run(1), 64);
    EXPECT_EQ(rows_of_sum_run(8192), 64);
    EXPECT_EQ(rows_of_sum_run(8193), 65);
    for (const std::size_t rows : {1, 64, 65, 8191, 8192, 8193, 1000003})
        EXPECT_LE(parts(rows, rows_of_sum_run(rows)), 128) << rows;
}

unsigned team_of(std::size_t columns, bool has_vectors) {
    unsigned team = 0;
    visit_teams<float>(columns, has_vectors, [&](auto size, auto /*width*/) { team = size(); });
    return team;
}

TEST(KeptRows, AreAWarpsWhereItsRegistersHoldThem) {
    EXPECT_EQ(team_of(512, true), warp_size);
    EXPECT_EQ(team_of(516, true), row_threads);
    EXPECT_EQ(team_of(128, false), warp_size);
    EXPECT_EQ(team_of(129, false), row_threads);
    EXPECT_EQ(grid_of_teams(17, warp_size).blocks_x, 3);
    EXPECT_EQ(grid_of_teams(17, row_threads).blocks_x, 17);
}

}  // namespace
}  // namespace trireme::gpu
