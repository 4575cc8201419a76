#include "trireme/rank/departure.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include "comm/mpi/mpi_communicator.hpp"

namespace trireme::run {
namespace {

// Polls for a message. Unlike most MPI calls this also advances the time of a simulation.
void poll_once() {
    int is_there = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
}

// A group of two ranks, the other of which neither sends nor receives.
class GroupWithoutAnswer final : public comm::Communicator {
public:
    explicit GroupWithoutAnswer(device::WaitPolicy wait_policy) : comm::Communicator(wait_policy) {}

    int rank() const override { return 0; }
    int size() const override { return 2; }
    const std::string& name() const override { return name_; }
    RequestId start_send(device::ConstTensor, int, comm::Label) override { return 0; }
    RequestId start_receive(device::Tensor, int, comm::Label) override { return 0; }
    bool is_done(RequestId) override {
        poll_once();
        return false;
    }

protected:
    std::string describe(RequestId) const override { return "a message"; }

private:
    std::string name_ = "departure";
};

rank::Departure departure_with(double patience_seconds) {
    return rank::Departure(std::make_unique<comm::MpiCommunicator>(MPI_COMM_WORLD, "departure",
                                                                   device::WaitPolicy{patience_seconds}));
}

int own_rank() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

TEST(Departure, IsJointIfEveryRankGivesUp) {
    rank::Departure departure = departure_with(20);

    EXPECT_TRUE(departure.confirm_joint_exit());
}

TEST(Departure, WaitsForALateRank) {
    rank::Departure departure = departure_with(20);
    for (const double begin = MPI_Wtime(); own_rank() == 0 && MPI_Wtime() < begin + 0.2;) poll_once();

    EXPECT_TRUE(departure.confirm_joint_exit());
}

TEST(Departure, IsNotJointIfAnotherRankDoesNotAnswer) {
    rank::Departure departure(std::make_unique<GroupWithoutAnswer>(device::WaitPolicy{.stall_seconds = 0.05}));

    EXPECT_FALSE(departure.confirm_joint_exit());
}

}  // namespace
}  // namespace trireme::run
