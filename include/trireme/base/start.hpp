// How a process was started: by whom, and as which of how many.
#pragma once

#include <cstdint>

#include "trireme/base/job.hpp"

namespace trireme {

enum class Launcher : std::uint8_t { none, srun, mpirun_of_open_mpi, mpiexec_of_mpich };

struct Start {
    Launcher launcher = Launcher::none;
    int processes = 1;
    int process = 0;
    bool has_pmix = false;  // what srun and the MPI library talk to each other by; without it, or
    bool has_pmi = false;   // its elder brother, each process that srun starts is alone
};

// Of launchers within launchers, the innermost. MPI libraries add variables to the environment when they start:
// to be asked before that.
Start start_of(Variables variables);

}  // namespace trireme
