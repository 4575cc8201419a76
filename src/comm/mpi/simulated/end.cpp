#include <mpi.h>

#include <utility>

#include "trireme/comm/session.hpp"

namespace trireme {

// The simulator sees by itself that nobody can go on.
void Session::end(const std::function<void()>& /*is_stuck*/) {
    if (std::exchange(has_started_, false)) MPI_Finalize();
}

}  // namespace trireme
