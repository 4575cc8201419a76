#include "comm/mpi/mpi_communicator.hpp"

namespace trireme {

void MpiCommunicator::wait_for(Ticket ticket) { Communicator::wait_for(ticket); }

}  // namespace trireme
