#include "trireme/comm/collectives.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <vector>

#include "comm/mpi/mpi_communicator.hpp"
#include "ranks/comm/view_of.hpp"
#include "trireme/base/random.hpp"

namespace trireme::comm {
namespace {

// Returns a number that every rank can compute for any other rank.
double number(int rank, std::size_t i) {
    const RandomKey key = RandomKey{11}.then(static_cast<std::uint64_t>(rank));
    return to_unit_interval(random_block(key, i)[0]) - 0.5;
}

template <class T>
std::vector<T> numbers(int rank, std::size_t count) {
    std::vector<T> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<T>(number(rank, i));
    return values;
}

class Collectives : public ::testing::TestWithParam<std::size_t> {
protected:
    MpiCommunicator group_{MPI_COMM_WORLD, "test", {.stall_seconds = 20}};

    template <class T>
    void expect_sum_in_rank_order() {
        std::vector<T> values = numbers<T>(group_.rank(), GetParam());
        device::Arena scratch("scratch", count_all_reduce_scratch_bytes(group_, make_view(values)),
                              device::MemorySpace::host);

        all_reduce(group_, make_view(values), scratch);

        for (std::size_t i = 0; i < values.size(); ++i) {
            T expected{};
            for (int rank = 0; rank < group_.size(); ++rank) expected += static_cast<T>(number(rank, i));
            ASSERT_EQ(values[i], expected) << "element " << i;  // exactly equal, because the order is fixed
        }
    }
};

TEST_P(Collectives, AddFloatsInRankOrder) { expect_sum_in_rank_order<float>(); }
TEST_P(Collectives, AddDoublesInRankOrder) { expect_sum_in_rank_order<double>(); }

// Fewer elements than ranks, equally many, more, and enough for a message that MPI sends by rendezvous.
INSTANTIATE_TEST_SUITE_P(Sizes, Collectives, ::testing::Values(1, 2, 7, 8, 1000, 200'003));

TEST(Gather, BringsTheValuesOfEveryRankToEveryRank) {
    MpiCommunicator group(MPI_COMM_WORLD, "test", {.stall_seconds = 20});
    const std::array own{static_cast<double>(group.rank()), 100.0 + group.rank()};

    const std::vector<double> all = all_gather(group, own);

    ASSERT_EQ(all.size(), 2 * static_cast<std::size_t>(group.size()));
    for (int rank = 0; rank < group.size(); ++rank) {
        EXPECT_EQ(all[2 * static_cast<std::size_t>(rank)], rank);
        EXPECT_EQ(all[2 * static_cast<std::size_t>(rank) + 1], 100 + rank);
    }
}

TEST(Gather, SupportsTextsOfDifferentLengths) {
    MpiCommunicator group(MPI_COMM_WORLD, "test", {.stall_seconds = 20});
    const auto to_string = [](int rank) { return std::string(static_cast<std::size_t>(3 * rank), 'x'); };

    const std::vector<std::string> all = all_gather(group, to_string(group.rank()));

    for (int rank = 0; rank < group.size(); ++rank)
        EXPECT_EQ(all[static_cast<std::size_t>(rank)], to_string(rank));
}

}  // namespace
}  // namespace trireme::comm
