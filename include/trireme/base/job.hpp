// How a process was started: its job, its launcher, and which process of how many it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace trireme {

// What a process was told of the job that it was started in, by Slurm or by an MPI library's launcher.
struct SlurmJob {
    std::string id = {};                              // Slurm's; empty outside of a job
    int restarts = 0;                                 // how often Slurm has put it back into the queue
    std::optional<double> end_time = {};              // when Slurm will end it, in seconds since 1970
    std::optional<int> cores_per_rank = {};           // --cpus-per-task
    std::optional<int> local_rank = {};               // this process among those of its node and job step
    std::optional<std::string> visible_devices = {};  // CUDA_VISIBLE_DEVICES; none: all are
};

// The value of a variable of the environment, as std::getenv gives it; nullptr where there is none.
using Variables = const char* (*)(const char* name);

// Values that are no numbers count as not given: they are the launcher's, and nobody can mend them here.
SlurmJob job_of(Variables variables);

// Until Slurm ends it, which may be over already; none: nobody said when.
std::optional<double> seconds_left(const SlurmJob& job);

// How a process was started: by whom, and as which of how many.
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
