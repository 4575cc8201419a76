#include <cstdio>
#include <cstdlib>

#include "trireme/comm/session.hpp"

namespace trireme {

// All ranks share this process. (SMPI's MPI_Abort would end them with exit code 0.)
void Session::abort(int exit_code) const {
    std::fflush(nullptr);
    std::_Exit(exit_code);
}

}  // namespace trireme
