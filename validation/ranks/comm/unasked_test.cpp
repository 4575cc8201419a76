#include <gtest/gtest.h>
#include <mpi.h>

#include <array>

#include "comm/mpi/mpi_communicator.hpp"
#include "ranks/comm/view_of.hpp"
#include "trireme/device/clock.hpp"

namespace trireme::comm {
namespace {

TEST(UnaskedMessages, NameTheirSender) {
    MpiCommunicator own(MPI_COMM_WORLD, "test", {.stall_seconds = 20});
    Communicator& group = own;
    const int right = (own.rank() + 1) % own.size();
    const int left = (own.rank() + own.size() - 1) % own.size();
    std::vector<double> value{0.5 + own.rank()}, got(1);
    const auto dispatch = group.start_send(view_of(value), right);

    std::optional<int> sender;
    while (!sender) sender = group.unasked_sender();
    group.wait(std::array{group.start_receive(view_of(got), *sender), dispatch});

    EXPECT_EQ(sender, left);
    EXPECT_EQ(got[0], 0.5 + left);
    EXPECT_EQ(group.unasked_sender(), std::nullopt);
}

TEST(UnaskedMessages, AreNoneOfThoseThatAReceiveIsThereFor) {
    MpiCommunicator own(MPI_COMM_WORLD, "test", {.stall_seconds = 20});
    Communicator& group = own;
    const int right = (own.rank() + 1) % own.size();
    const int left = (own.rank() + own.size() - 1) % own.size();
    std::vector<double> value{1}, got(1);
    const auto receipt = group.start_receive(view_of(got), left);
    MPI_Barrier(MPI_COMM_WORLD);

    const auto dispatch = group.start_send(view_of(value), right);
    MPI_Barrier(MPI_COMM_WORLD);

    EXPECT_EQ(group.unasked_sender(), std::nullopt);
    group.wait(std::array{dispatch, receipt});
}

// The effect of progress() shows only in timings. This test checks that it calls the lookout.
TEST(Progress, LooksOut) {
    if (device::time_is_simulated()) GTEST_SKIP() << "the simulator moves messages by itself";
    int looks = 0;
    const device::Lookout lookout{.look = [&](double) { ++looks; }, .tell = [](const std::string&) {}};
    MpiCommunicator own(MPI_COMM_WORLD, "test", {.stall_seconds = 20, .lookout = &lookout});
    const int before = looks;  // the wait for other ranks also calls the lookout

    own.progress();

    EXPECT_EQ(looks, before + 1);
}

}  // namespace
}  // namespace trireme::comm
