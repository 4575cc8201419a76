#include "trireme/comm/collectives.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <vector>

#include "comm/mpi/mpi_communicator.hpp"
#include "trireme/base/random.hpp"

namespace trireme {
namespace {

template <class T>
Tensor view_of(std::vector<T>& values) {
    return {values.data(), dtype_of<T>(), 1, values.size(), values.size()};
}

// A number that every rank can work out for every other.
double number(int rank, std::size_t i) {
    const RandomKey key = RandomKey{11}.then(static_cast<std::uint64_t>(rank));
    return unit_interval(random_block(key, i)[0]) - 0.5;
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
        Arena scratch("scratch", sum_scratch_bytes(group_, view_of(values)), Place::memory);

        sum_in_rank_order(group_, view_of(values), scratch);

        for (std::size_t i = 0; i < values.size(); ++i) {
            T expected{};
            for (int rank = 0; rank < group_.size(); ++rank) expected += static_cast<T>(number(rank, i));
            ASSERT_EQ(values[i], expected) << "element " << i;  // bit for bit: the order is fixed
        }
    }
};

TEST_P(Collectives, AddFloatsInRankOrder) { expect_sum_in_rank_order<float>(); }
TEST_P(Collectives, AddDoublesInRankOrder) { expect_sum_in_rank_order<double>(); }

// Fewer elements than ranks, as many, some more, and enough for a message that MPI sends by rendezvous.
INSTANTIATE_TEST_SUITE_P(Sizes, Collectives, ::testing::Values(1, 2, 7, 8, 1000, 200'003));

TEST(Gather, BringsTheValuesOfEveryRankToEveryRank) {
    MpiCommunicator group(MPI_COMM_WORLD, "test", {.stall_seconds = 20});
    const std::array own{static_cast<double>(group.rank()), 100.0 + group.rank()};

    const std::vector<double> all = gather_all(group, own);

    ASSERT_EQ(all.size(), 2 * static_cast<std::size_t>(group.size()));
    for (int rank = 0; rank < group.size(); ++rank) {
        EXPECT_EQ(all[2 * static_cast<std::size_t>(rank)], rank);
        EXPECT_EQ(all[2 * static_cast<std::size_t>(rank) + 1], 100 + rank);
    }
}

TEST(Gather, BringsTextsOfUnequalLength) {
    MpiCommunicator group(MPI_COMM_WORLD, "test", {.stall_seconds = 20});
    const auto text_of = [](int rank) { return std::string(static_cast<std::size_t>(3 * rank), 'x'); };

    const std::vector<std::string> all = gather_all(group, text_of(group.rank()));

    for (int rank = 0; rank < group.size(); ++rank)
        EXPECT_EQ(all[static_cast<std::size_t>(rank)], text_of(rank));
}

TEST(Messages, ArriveInTheOrderTheyWereSent) {
    MpiCommunicator group(MPI_COMM_WORLD, "test", {.stall_seconds = 20});
    const int right = (group.rank() + 1) % group.size();
    const int left = (group.rank() + group.size() - 1) % group.size();
    std::vector<double> first{1.0 + group.rank()}, second{-1.0 - group.rank()}, got_first(1), got_second(1);

    std::vector<Communicator::Ticket> tickets{
        group.start_receive(view_of(got_first), left), group.start_receive(view_of(got_second), left),
        group.start_send(view_of(first), right), group.start_send(view_of(second), right)};
    group.wait(tickets);

    EXPECT_EQ(got_first[0], 1.0 + left);
    EXPECT_EQ(got_second[0], -1.0 - left);
    EXPECT_EQ(group.traffic().bytes_sent, 2 * sizeof(double));
}

TEST(Messages, ThatNeverComeAreNamed) {
    MpiCommunicator group(MPI_COMM_WORLD, "data", {.stall_seconds = 0.05});
    const int left = (group.rank() + group.size() - 1) % group.size();
    const int right = (group.rank() + 1) % group.size();
    std::vector<double> never{0};
    const auto ticket = group.start_receive(view_of(never), left);

    try {
        group.wait(std::array{ticket});
        FAIL() << "a message that nobody sent has come";
    } catch (const ResourceError& error) {
        const std::string expected =
            cat("waited 0.05 s for rank ", group.rank(), "'s message from rank ", left, " of the data group");
        EXPECT_EQ(std::string(error.what()).substr(0, expected.size()), expected);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    std::vector<double> late{0};  // so that no message is left behind
    group.wait(std::array{group.start_send(view_of(late), right)});
    while (!group.is_done(ticket)) {
    }
}

}  // namespace
}  // namespace trireme
