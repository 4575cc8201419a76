#include "comm/mpi/check_in.hpp"

namespace trireme {

void check_in(MPI_Comm, const std::vector<int>&, const std::string&, Patience) {}

void check_in_all(MPI_Comm, const std::string&, Patience) {}

}  // namespace trireme
