#include <gtest/gtest.h>
#include <mpi.h>

#include <array>

#include "comm/mpi/mpi_communicator.hpp"
#include "ranks/comm/view_of.hpp"
#include "trireme/device/clock.hpp"

namespace trireme::comm {
namespace {

TEST(UnexpectedMessages, NameTheirSender) {
    MpiCommunicator own(MPI_COMM_WORLD, "test", {.stall_seconds = 20});
    Communicator& group = own;
    const int right = (own.rank() + 1) % own.size();
    const int left = (own.rank() + own.size() - 1) % own.size();
    std::vector<double> value{0.5 + own.rank()}, got(1);
    const auto dispatch = group.start_send(make_view(value), right);

    std::optional<int> sender;
    while (!sender) sender = group.probe_sender();
    group.wait(std::array{group.start_receive(make_view(got), *sender), dispatch});

    EXPECT_EQ(sender, left);
    EXPECT_EQ(got[0], 0.5 + left);
    EXPECT_EQ(group.probe_sender(), std::nullopt);
}

TEST(UnexpectedMessages, ExcludeMessagesWithAPostedReceive) {
    MpiCommunicator own(MPI_COMM_WORLD, "test", {.stall_seconds = 20});
    Communicator& group = own;
    const int right = (own.rank() + 1) % own.size();
    const int left = (own.rank() + own.size() - 1) % own.size();
    std::vector<double> value{1}, got(1);
    const auto receipt = group.start_receive(make_view(got), left);
    MPI_Barrier(MPI_COMM_WORLD);

    const auto dispatch = group.start_send(make_view(value), right);
    MPI_Barrier(MPI_COMM_WORLD);

    EXPECT_EQ(group.probe_sender(), std::nullopt);
    group.wait(std::array{dispatch, receipt});
}

// The effect of progress() shows only in timings. This test checks that it calls the observer.
TEST(Progress, CallsTheWaitObserver) {
    if (device::time_is_simulated()) GTEST_SKIP() << "the simulator moves messages by itself";
    int looks = 0;
    const device::WaitObserver observer{.on_poll = [&](double) { ++looks; },
                                        .on_stall = [](const std::string&) {}};
    MpiCommunicator own(MPI_COMM_WORLD, "test", {.stall_seconds = 20, .observer = &observer});
    const int before = looks;  // the wait for other ranks also calls the observer

    own.progress();

    EXPECT_EQ(looks, before + 1);
}

}  // namespace
}  // namespace trireme::comm
