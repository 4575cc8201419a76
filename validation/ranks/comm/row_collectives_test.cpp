#include <gtest/gtest.h>
#include <mpi.h>

#include "comm/mpi/mpi_communicator.hpp"
#include "trireme/base/random.hpp"
#include "trireme/comm/collectives.hpp"

namespace trireme::comm {
namespace {

// The number of rows per rank, from rank 0 on, and of columns.
struct Shape {
    std::vector<std::size_t> counts;
    std::size_t columns;
};

// Even and uneven ranges, some or all of them empty. Rows are shorter and longer than the tiles that are summed
// at a time; some messages are sent by rendezvous.
const std::vector<Shape> shapes{{{2, 2, 2, 2, 2, 2, 2, 2}, 3},      {{2, 0, 3, 1, 0, 4, 1, 0}, 5},
                                {{0, 1, 0, 0, 0, 0, 0, 0}, 1},      {{0, 0, 0, 0, 0, 0, 0, 0}, 4},
                                {{1, 3, 0, 2, 1, 1, 0, 1}, 20'003}, {{3, 2, 2, 2, 2, 2, 2, 2}, 700}};

class RowCollectives : public ::testing::TestWithParam<std::size_t> {
protected:
    MpiCommunicator group_{MPI_COMM_WORLD, "tensor", {.stall_seconds = 20}};
    std::size_t columns_ = shapes[GetParam()].columns;
    std::vector<layout::Range> ranges_ = ranges();
    std::size_t rows_ = ranges_.back().end();
    layout::Range own_ = ranges_[static_cast<std::size_t>(group_.rank())];

    std::vector<layout::Range> ranges() const {
        std::vector<layout::Range> cut;
        std::size_t begin = 0;
        for (std::size_t rank = 0; rank < static_cast<std::size_t>(group_.size()); ++rank) {
            cut.push_back({begin, shapes[GetParam()].counts[rank]});
            begin = cut.back().end();
        }
        return cut;
    }

    template <class T>
    device::Tensor matrix(std::vector<T>& values) const {
        return {values.data(), device::to_dtype<T>(), rows_, columns_, columns_};
    }

    bool is_own(std::size_t element) const {
        return element / columns_ >= own_.begin && element / columns_ < own_.end();
    }

    // Returns a number that every rank can compute for any other rank.
    template <class T>
    static T number(int rank, std::size_t element) {
        const RandomKey key = RandomKey{5}.then(static_cast<std::uint64_t>(rank));
        return static_cast<T>(to_unit_interval(random_block(key, element)[0]) - 0.5);
    }

    template <class T>
    void expect_rows_of_all() {
        std::vector<T> values(rows_ * columns_, T{-1});
        for (std::size_t i = 0; i < values.size(); ++i)
            if (is_own(i)) values[i] = static_cast<T>(i % 8191);

        all_gather_rows(group_, matrix(values), ranges_);

        for (std::size_t i = 0; i < values.size(); ++i)
            ASSERT_EQ(values[i], static_cast<T>(i % 8191)) << "element " << i;
    }

    template <class T>
    void expect_sum_in_rank_order() {
        std::vector<T> values(rows_ * columns_);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = number<T>(group_.rank(), i);
        device::Arena scratch("scratch", std::size_t{8} << 20, device::MemorySpace::host);

        reduce_scatter_rows(group_, matrix(values), ranges_, scratch);

        for (std::size_t i = 0; i < values.size(); ++i) {
            T sum{};
            for (int rank = 0; rank < group_.size(); ++rank) sum += number<T>(rank, i);
            // exactly equal, because the order is fixed
            ASSERT_EQ(values[i], is_own(i) ? sum : number<T>(group_.rank(), i)) << "element " << i;
        }
        EXPECT_EQ(scratch.mark(), 0U);
    }
};

TEST_P(RowCollectives, GatherFloats) { expect_rows_of_all<float>(); }
TEST_P(RowCollectives, GatherDoubles) { expect_rows_of_all<double>(); }
TEST_P(RowCollectives, GatherIntegers) { expect_rows_of_all<std::int32_t>(); }
TEST_P(RowCollectives, SumFloatsInRankOrder) { expect_sum_in_rank_order<float>(); }
TEST_P(RowCollectives, SumDoublesInRankOrder) { expect_sum_in_rank_order<double>(); }

TEST_P(RowCollectives, UseTheScratchPredictedByAGhostGroup) {
    std::vector<float> values(rows_ * columns_);
    device::Arena counted("counted", 0, device::MemorySpace::ghost);
    const auto ghosts = make_ghost_group("tensor", group_.rank(), group_.size());
    reduce_scatter_rows(*ghosts, counted.tensor(device::DType::f32, rows_, columns_), ranges_, counted);
    device::Arena scratch("scratch", counted.peak(), device::MemorySpace::host);
    const device::Tensor copy = scratch.tensor(device::DType::f32, rows_, columns_);

    reduce_scatter_rows(group_, matrix(values), ranges_, scratch);

    EXPECT_EQ(copy.size(), values.size());
    EXPECT_EQ(scratch.peak(), counted.peak());
}

INSTANTIATE_TEST_SUITE_P(Shapes, RowCollectives, ::testing::Range<std::size_t>(0, shapes.size()));

}  // namespace
}  // namespace trireme::comm
