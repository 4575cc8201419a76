#include <mpi.h>

#include <cstdio>
#include <cstdlib>

#include "trireme/comm/session.hpp"

namespace trireme {

void Session::abort(int exit_code) const {
    std::fflush(nullptr);
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::_Exit(exit_code);  // MPI_Abort does not come back
}

}  // namespace trireme
