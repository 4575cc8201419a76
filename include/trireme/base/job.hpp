// Facts about the start of this process: its Slurm job, its launcher, and its index among the launched
// processes. All facts come from environment variables, so that they are known before MPI_Init().
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace trireme {

// Facts about the job, from environment variables of Slurm and of the MPI library's launcher.
struct SlurmJob {
    std::string id = {};                              // Slurm's job ID; empty outside of a job
    int restarts = 0;                                 // number of times that Slurm has requeued the job
    std::optional<double> end_time = {};              // when Slurm will end the job, in seconds since 1970
    std::optional<int> cores_per_rank = {};           // value of Slurm's option --cpus-per-task
    std::optional<int> local_rank = {};               // index among the processes of this node
    std::optional<std::string> visible_devices = {};  // CUDA_VISIBLE_DEVICES; if unset, all GPUs are visible
};

// A function like std::getenv(). Returns the value of an environment variable, or nullptr if the variable is
// unset.
using GetVariable = const char* (*)(const char* name);

// Reads the facts of the job. A variable that should be a number but has another value counts as unset, because
// the user could not correct the value.
SlurmJob read_slurm_job(GetVariable get_variable);

// Returns the seconds until Slurm ends the job: negative if the end time has passed, empty if the end time is
// unknown.
std::optional<double> compute_seconds_left(const SlurmJob& job);

// The program that started this process.
enum class Launcher : std::uint8_t { none, srun, mpirun_of_open_mpi, mpiexec_of_mpich };

// The launcher of this process, and what it set for the start of MPI.
struct ProcessStart {
    Launcher launcher = Launcher::none;
    int process_count = 1;  // number of processes that the launcher started together
    int process_index = 0;  // index of this process among these processes
    // `has_pmix` is true if the launcher offers PMIx, `has_pmi` if it offers the older PMI. MPI needs PMIx or
    // PMI to connect the processes that srun starts. If both are missing, every process becomes a job of one
    // rank.
    bool has_pmix = false;
    bool has_pmi = false;
};

// Finds out how this process was started. If launchers are nested, for example mpirun within srun, returns the
// innermost launcher. Must be called before MPI_Init(), which adds variables to the environment.
ProcessStart read_process_start(GetVariable get_variable);

}  // namespace trireme
