#include "trireme/base/job.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <optional>
#include <string_view>

namespace trireme {
namespace {

template <class Number>
std::optional<Number> parse_number(const char* text) {
    if (text == nullptr) return std::nullopt;
    const std::string_view digits(text);
    Number number{};
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return number;
}

// The variables of MPI launchers come first: a process of mpirun within a Slurm allocation also inherits the
// Slurm variables of the batch script.
std::optional<int> find_local_rank(GetVariable get_variable) {
    constexpr std::array names{"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"};
    for (const char* name : names) {
        if (const std::optional<int> rank = parse_number<int>(get_variable(name))) return rank;
    }
    return std::nullopt;
}

std::string copy_text(const char* text) { return text == nullptr ? "" : text; }

}  // namespace

SlurmJob read_slurm_job(GetVariable get_variable) {
    SlurmJob job;
    job.id = copy_text(get_variable("SLURM_JOB_ID"));
    job.restarts = parse_number<int>(get_variable("SLURM_RESTART_COUNT")).value_or(0);
    job.end_time = parse_number<double>(get_variable("SLURM_JOB_END_TIME"));
    job.cores_per_rank = parse_number<int>(get_variable("SLURM_CPUS_PER_TASK"));
    job.local_rank = find_local_rank(get_variable);
    if (const char* devices = get_variable("CUDA_VISIBLE_DEVICES")) job.visible_devices = devices;
    return job;
}

std::optional<double> compute_seconds_left(const SlurmJob& job) {
    if (!job.end_time) return std::nullopt;
    const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
    return *job.end_time - std::chrono::duration<double>(since_1970).count();
}

// SLURM_STEP_ID is set only for processes that srun starts. Other processes in the job, such as the batch
// script, also have the variables of the job, so that these variables do not show that srun is the launcher.
ProcessStart read_process_start(GetVariable get_variable) {
    struct LauncherVariables {
        Launcher launcher;
        const char* index;  // variable with the index of the process
        const char* count;  // variable with the number of processes
    };
    constexpr std::array candidates{
        LauncherVariables{Launcher::mpirun_of_open_mpi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
        LauncherVariables{Launcher::mpiexec_of_mpich, "PMI_RANK", "PMI_SIZE"},
        LauncherVariables{Launcher::srun, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};
    const bool has_job_step = parse_number<int>(get_variable("SLURM_STEP_ID")).has_value();
    ProcessStart start{.has_pmix = get_variable("PMIX_RANK") != nullptr,
                       .has_pmi = get_variable("PMI_RANK") != nullptr};
    for (const LauncherVariables& candidate : candidates) {
        const std::optional<int> index = parse_number<int>(get_variable(candidate.index));
        const std::optional<int> count = parse_number<int>(get_variable(candidate.count));
        if (!index || !count || (candidate.launcher == Launcher::srun && !has_job_step)) continue;
        start.launcher = candidate.launcher;
        start.process_index = *index;
        start.process_count = *count;
        break;
    }
    // Both srun --mpi=pmi2 and MPICH's mpiexec set PMI_RANK and PMI_SIZE; only mpiexec sets MPI_LOCALRANKID.
    const bool may_be_srun = start.launcher == Launcher::mpiexec_of_mpich && has_job_step;
    if (may_be_srun && get_variable("MPI_LOCALRANKID") == nullptr) start.launcher = Launcher::srun;
    return start;
}

}  // namespace trireme
