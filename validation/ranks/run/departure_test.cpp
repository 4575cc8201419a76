#include "trireme/rank/departure.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include "comm/mpi/mpi_communicator.hpp"

namespace trireme {
namespace {

// Takes time, in a simulation too, where only some of MPI's calls do.
void look_for_nothing() {
    int is_there = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
}

// A group of two whose other rank neither sends nor receives.
class GroupWithoutAnswer final : public Communicator {
public:
    explicit GroupWithoutAnswer(Patience patience) : Communicator(patience) {}

    int rank() const override { return 0; }
    int size() const override { return 2; }
    const std::string& name() const override { return name_; }
    Ticket start_send(ConstTensor, int, Label) override { return 0; }
    Ticket start_receive(Tensor, int, Label) override { return 0; }
    bool is_done(Ticket) override {
        look_for_nothing();
        return false;
    }

protected:
    std::string describe(Ticket) const override { return "a message"; }

private:
    std::string name_ = "departure";
};

Departure departure_with(double patience_seconds) {
    return Departure(
        std::make_unique<MpiCommunicator>(MPI_COMM_WORLD, "departure", Patience{patience_seconds}));
}

int own_rank() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

TEST(Departure, IsJointOnceEveryRankGivesUp) {
    Departure departure = departure_with(20);

    EXPECT_TRUE(departure.is_joint());
}

TEST(Departure, WaitsForARankThatComesLate) {
    Departure departure = departure_with(20);
    for (const double begin = MPI_Wtime(); own_rank() == 0 && MPI_Wtime() < begin + 0.2;) look_for_nothing();

    EXPECT_TRUE(departure.is_joint());
}

TEST(Departure, IsNotJointWhereAnotherRankKnowsOfNothing) {
    Departure departure(std::make_unique<GroupWithoutAnswer>(Patience{.stall_seconds = 0.05}));

    EXPECT_FALSE(departure.is_joint());
}

}  // namespace
}  // namespace trireme
