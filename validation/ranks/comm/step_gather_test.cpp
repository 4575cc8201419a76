#include "trireme/comm/step_gather.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <array>

#include "comm/mpi/mpi_communicator.hpp"
#include "error_message.hpp"

namespace trireme::comm {
namespace {

class StepGatherTest : public testing::Test {
protected:
    double rank() const { return group_.rank(); }
    int size() const { return group_.size(); }

    MpiCommunicator group_{MPI_COMM_WORLD, "tally", {.stall_seconds = 20}};
    StepGather tally_{group_, 2};
};

TEST_F(StepGatherTest, GathersTheNumbersOfAllRanks) {
    tally_.post(std::array{rank(), -rank()});

    const GatheredNumbers all = tally_.take();

    EXPECT_EQ(all.sum(0), size() * (size() - 1) / 2);
    EXPECT_EQ(all.max(0), size() - 1);
    EXPECT_EQ(all.max(1), 0);
    for (int r = 0; r < size(); ++r) EXPECT_EQ(all.list_per_rank(1)[static_cast<std::size_t>(r)], -r);
}

// A rank may post several rounds ahead of others. All ranks post equally many rounds.
TEST_F(StepGatherTest, KeepsRoundsSeparateIfARankIsAhead) {
    const int ahead = group_.rank() % 3;
    int taken = 0;
    for (int round = 0; round < 20; ++round) {
        tally_.post(std::array{100.0 * round + rank(), 1.0});
        if (round < ahead) continue;
        EXPECT_EQ(tally_.take().max(0), 100.0 * taken + size() - 1);
        ++taken;
    }
    for (; taken < 20; ++taken) EXPECT_EQ(tally_.take().max(0), 100.0 * taken + size() - 1);
}

TEST_F(StepGatherTest, RejectsWrongCountsAndUnpostedRounds) {
    EXPECT_EQ(validation::catch_message<BugError>([&] { tally_.post(std::array{1.0}); }),
              "a gather needs 2 numbers per rank, but was given 1");
    EXPECT_EQ(validation::catch_message<BugError>([&] { tally_.take(); }),
              "the result of a gather was taken before the gather was posted");
}

}  // namespace
}  // namespace trireme::comm
