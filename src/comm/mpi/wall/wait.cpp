#include "comm/mpi/mpi_communicator.hpp"

namespace trireme {

void MpiCommunicator::wait_for(Ticket ticket) { Communicator::wait_for(ticket); }

// A large message moves only while both its ranks are inside of MPI: any call lets all go on, this one for nothing.
void MpiCommunicator::progress() {
    unasked_sender();
    Communicator::progress();
}

}  // namespace trireme
