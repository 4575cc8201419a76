// The message of a rank that creates a group which other ranks do not create.
#include <gtest/gtest.h>
#include <mpi.h>

#include "comm/mpi/mpi_communicator.hpp"
#include "error_message.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/device/clock.hpp"

namespace trireme::comm {
namespace {

using validation::catch_message;

class CheckIn : public ::testing::Test {
protected:
    void SetUp() override {
        if (device::time_is_simulated()) GTEST_SKIP() << "the simulator finds a deadlock by itself";
    }
    void TearDown() override { barrier(together_); }

    int rank() const { return together_.rank(); }
    int last() const { return together_.size() - 1; }

    std::vector<int> ranks_from(int first) const {
        std::vector<int> ranks;
        for (int rank = first; rank <= last(); ++rank) ranks.push_back(rank);
        return ranks;
    }

    std::string others() const {
        const std::vector<int> ranks = ranks_from(1);
        return cat(ranks.size() == 1 ? "rank " : "ranks ", format_ranges(ranks));
    }

    static constexpr device::WaitPolicy wait_policy{.stall_seconds = 0.05};
    const std::string advice = "; a rank is dead or stuck, or --stall-timeout is too short";

private:
    MpiCommunicator together_{MPI_COMM_WORLD, "test", {.stall_seconds = 20}};
};

TEST_F(CheckIn, NamesTheRanksThatDoNotDuplicateTheWorld) {
    if (rank() != 0) return;

    const std::string message =
        catch_message<ResourceError>([] { MpiCommunicator(MPI_COMM_WORLD, "record", wait_policy); });

    EXPECT_EQ(message, cat("waited 0.05 s for ", others(), " to create the record group", advice));
}

TEST_F(CheckIn, NamesTheRanksThatDoNotCreateAGroup) {
    if (rank() != 0) return;

    const std::string message = catch_message<ResourceError>(
        [&] { MpiCommunicator(MPI_COMM_WORLD, ranks_from(0), "tensor", wait_policy); });

    EXPECT_EQ(message, cat("waited 0.05 s for ", others(), " to create the tensor group", advice));
}

TEST_F(CheckIn, NamesTheFirstRankIfItIsMissing) {
    constexpr int tag_of_arrivals = 1;
    if (rank() == 0) {  // receives the message that the last rank cannot cancel
        MPI_Recv(nullptr, 0, MPI_BYTE, last(), tag_of_arrivals, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank() != last()) return;

    const std::string message = catch_message<ResourceError>([&] {
        MpiCommunicator(MPI_COMM_WORLD, {0, last()}, "tensor", wait_policy);
    });

    EXPECT_EQ(message, cat("waited 0.1 s for rank 0 to create the tensor group", advice));
}

}  // namespace
}  // namespace trireme::comm
