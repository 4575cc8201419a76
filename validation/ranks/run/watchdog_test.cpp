// Tests when the watchdog ends a job and when it waits. The program's messages are tested in
// validation/messages.
#include "trireme/rank/watchdog.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <chrono>
#include <thread>
#include <vector>

#include "comm/mpi/mpi_communicator.hpp"
#include "error_message.hpp"
#include "ranks/comm/view_of.hpp"
#include "trireme/device/clock.hpp"

namespace trireme::run {
namespace {

using validation::catch_message;
using validation::says;

class JobWatchdog : public ::testing::Test {
protected:
    // Limits that give every running rank time to answer.
    static constexpr rank::WatchdogSeconds patient{
        .stall = 0.2, .answer = 20, .report_turn = 20, .end_of_job = 0.1};

    void SetUp() override {
        if (device::time_is_simulated()) GTEST_SKIP() << "the simulator itself detects the deadlock";
    }

    void begin(const rank::WatchdogSeconds& seconds) {
        watchdog_.emplace(
            std::make_unique<comm::MpiCommunicator>(MPI_COMM_WORLD, "watchdog", device::WaitPolicy{20}), "ark",
            seconds);
        watchdog_->set_position_callback([] { return "stands at the bow"; });
        group_ = std::make_unique<comm::MpiCommunicator>(MPI_COMM_WORLD, "test", watchdog_->wait_policy());
    }

    int last() const { return group_->size() - 1; }
    bool is_last() const { return group_->rank() == last(); }

    void wait_for(int peer) { group_->wait(std::array{group_->start_receive(comm::make_view(got_), peer)}); }

    std::string line_of(int rank) const { return cat("\n  rank ", rank, " (ark) "); }

    std::optional<rank::Watchdog> watchdog_;
    std::unique_ptr<comm::Communicator> group_;
    std::vector<double> got_ = std::vector<double>(1);
};

// The last rank computes five times longer than the stall limit, and then sends the messages.
TEST_F(JobWatchdog, WaitsForASlowRank) {
    begin(patient);
    std::vector<double> value{7};

    if (is_last()) {
        for (const double end = device::now_seconds() + 1; device::now_seconds() < end; group_->progress()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        for (int peer = 0; peer < last(); ++peer)
            group_->wait(std::array{group_->start_send(comm::make_view(value), peer)});
    } else {
        wait_for(last());
        EXPECT_EQ(got_[0], 7);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

TEST_F(JobWatchdog, EndsAJobWithoutProgress) {
    begin(patient);

    const std::string block =
        catch_message<ResourceError>([&] { wait_for((group_->rank() + 1) % group_->size()); });

    EXPECT_TRUE(says(block, "there has been no progress for 0.2 s")) << block;
    for (int rank = 0; rank <= last(); ++rank) {
        EXPECT_TRUE(says(block, line_of(rank) + "stands at the bow")) << block;
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

TEST_F(JobWatchdog, EndsAJobIfARankDoesNotAnswer) {
    begin({.stall = 0.2, .answer = 0.5, .report_turn = 20, .end_of_job = 0.1});

    if (!is_last()) {
        const std::string block = catch_message<ResourceError>([&] { wait_for(last()); });

        EXPECT_TRUE(says(block, line_of(last()) + "does not answer")) << block;
        EXPECT_TRUE(says(block, line_of(group_->rank()) + "stands at the bow; waited 0.2 s for ")) << block;
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace
}  // namespace trireme::run
