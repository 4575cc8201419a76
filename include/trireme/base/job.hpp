// Facts about the start of this process: its job, its launcher, the number of processes and its own number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace trireme {

// Facts that Slurm or an MPI library's launcher put into the environment of this process.
struct SlurmJob {
    std::string id = {};                              // Slurm's job ID; empty outside of a job
    int restarts = 0;                                 // number of times that Slurm has requeued the job
    std::optional<double> end_time = {};              // when Slurm will end the job, in seconds since 1970
    std::optional<int> cores_per_rank = {};           // --cpus-per-task
    std::optional<int> local_rank = {};               // rank within the node and the job step
    std::optional<std::string> visible_devices = {};  // CUDA_VISIBLE_DEVICES; if unset, all are visible
};

// Returns the value of an environment variable as std::getenv does; nullptr if it is unset.
using Variables = const char* (*)(const char* name);

// Reads the facts of the job. Values that are not numbers count as unset: the launcher wrote them, and the
// user cannot correct them.
SlurmJob job_of(Variables variables);

// Returns the seconds until Slurm ends the job, negative if that time has passed. Empty if the end is
// unknown.
std::optional<double> seconds_left(const SlurmJob& job);

// The program that started this process.
enum class Launcher : std::uint8_t { none, srun, mpirun_of_open_mpi, mpiexec_of_mpich };

// The launcher of this process, the number of processes and the number of this one.
struct Start {
    Launcher launcher = Launcher::none;
    int processes = 1;
    int process = 0;
    bool has_pmix = false;  // srun and the MPI library connect through PMIx or the older PMI;
    bool has_pmi = false;   // without either, each process that srun starts is alone
};

// Returns the innermost launcher if launchers are nested. Call it before MPI_Init, which adds variables to
// the environment.
Start start_of(Variables variables);

}  // namespace trireme
