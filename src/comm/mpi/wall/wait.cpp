#include "comm/mpi/mpi_communicator.hpp"

namespace trireme {

int MpiCommunicator::test(MPI_Request& request, bool& is_done, MPI_Status& status) {
    int flag = 0;
    const int code = MPI_Test(&request, &flag, &status);
    is_done = flag != 0;
    return code;
}

void MpiCommunicator::wait_for(Ticket ticket) { Communicator::wait_for(ticket); }

// A large message moves only while both its ranks are inside of MPI: any call lets all go on, this one for nothing.
void MpiCommunicator::progress() {
    unasked_sender();
    Communicator::progress();
}

}  // namespace trireme
