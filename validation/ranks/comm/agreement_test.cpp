#include "trireme/comm/agreement.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include "comm/mpi/mpi_communicator.hpp"
#include "error_message.hpp"
#include "trireme/base/error.hpp"

namespace trireme::comm {
namespace {

using validation::catch_message;

class Agreement : public ::testing::Test {
protected:
    // Returns the error message of run_or_fail_together() on this rank.
    std::string outcome(const std::function<void(int rank)>& prepare) {
        return catch_message<ConfigError>(
            [&] { run_or_fail_together(group_, [&] { prepare(group_.rank()); }); });
    }

    int last() const { return group_.size() - 1; }

private:
    MpiCommunicator group_{MPI_COMM_WORLD, "test", {.stall_seconds = 20}};
};

TEST_F(Agreement, SucceedsIfNoRankFails) {
    int times = 0;

    EXPECT_EQ(outcome([&](int) { times += 1; }), "(no error)");
    EXPECT_EQ(times, 1);
}

TEST_F(Agreement, ThrowsTheErrorOfOneRankOnAllRanks) {
    for (int failing = 0; failing <= last(); ++failing) {
        const std::string message = outcome([&](int rank) {
            if (rank == failing) throw ConfigError(cat("rank ", rank, " cannot read the corpus"));
        });

        EXPECT_EQ(message, cat("rank ", failing, " cannot read the corpus"));
    }
}

TEST_F(Agreement, ThrowsTheErrorOfTheLowestFailingRank) {
    const std::string message = outcome([&](int rank) {
        if (rank > 0)
            throw ConfigError(std::string(static_cast<std::size_t>(rank), 'x') + " of unequal length");
    });

    EXPECT_EQ(message, "x of unequal length");
}

TEST_F(Agreement, ThrowsOneErrorIfAllRanksFail) {
    EXPECT_EQ(outcome([](int rank) { throw ConfigError(cat("first line\nsecond of ", rank)); }),
              "first line\nsecond of 0");
}

TEST_F(Agreement, SucceedsAfterAnEarlierFailure) {
    outcome([&](int rank) {
        if (rank == last()) throw ConfigError("no");
    });

    EXPECT_EQ(outcome([](int) {}), "(no error)");
}

}  // namespace
}  // namespace trireme::comm
