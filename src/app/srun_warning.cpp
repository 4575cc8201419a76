#include "app/srun_warning.hpp"

#include <ostream>

namespace trireme::app {

void warn_of_no_meeting(const Start& start, std::ostream& out) {
    const bool may_meet = start.launcher != Launcher::srun || start.has_pmix || start.has_pmi;
    if (may_meet || start.process > 0 || start.processes == 1) return;
    out << "trireme: srun offers its " << start.processes
        << " processes neither PMIx nor PMI; if MPI does not start now, use srun --mpi=pmix (srun --mpi=list "
           "says what there is)\n"
        << std::flush;
}

}  // namespace trireme::app
