#include "trireme/base/job.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <optional>
#include <string_view>

namespace trireme {
namespace {

template <class Number>
std::optional<Number> number_in(const char* text) {
    if (text == nullptr) return std::nullopt;
    const std::string_view digits(text);
    Number number{};
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return number;
}

// Prefers the innermost launcher: mpirun inside of an allocation also inherits the Slurm variables of the
// batch script.
std::optional<int> local_rank_in(Variables variables) {
    constexpr std::array names{"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"};
    for (const char* name : names) {
        if (const std::optional<int> rank = number_in<int>(variables(name))) return rank;
    }
    return std::nullopt;
}

std::string text_or_empty(const char* text) { return text == nullptr ? "" : text; }

}  // namespace

SlurmJob job_of(Variables variables) {
    SlurmJob job;
    job.id = text_or_empty(variables("SLURM_JOB_ID"));
    job.restarts = number_in<int>(variables("SLURM_RESTART_COUNT")).value_or(0);
    job.end_time = number_in<double>(variables("SLURM_JOB_END_TIME"));
    job.cores_per_rank = number_in<int>(variables("SLURM_CPUS_PER_TASK"));
    job.local_rank = local_rank_in(variables);
    if (const char* devices = variables("CUDA_VISIBLE_DEVICES")) job.visible_devices = devices;
    return job;
}

std::optional<double> seconds_left(const SlurmJob& job) {
    if (!job.end_time) return std::nullopt;
    const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
    return *job.end_time - std::chrono::duration<double>(since_1970).count();
}

// srun sets the job step for each process that it starts. A process outside of a step only inherits the
// variables of the job.
Start start_of(Variables variables) {
    struct Words {
        Launcher launcher;
        const char* process;
        const char* processes;
    };
    constexpr std::array all{
        Words{Launcher::mpirun_of_open_mpi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
        Words{Launcher::mpiexec_of_mpich, "PMI_RANK", "PMI_SIZE"},
        Words{Launcher::srun, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};
    const bool is_step = number_in<int>(variables("SLURM_STEP_ID")).has_value();
    Start start{.has_pmix = variables("PMIX_RANK") != nullptr, .has_pmi = variables("PMI_RANK") != nullptr};
    for (const Words& words : all) {
        const std::optional<int> process = number_in<int>(variables(words.process));
        const std::optional<int> processes = number_in<int>(variables(words.processes));
        if (!process || !processes || (words.launcher == Launcher::srun && !is_step)) continue;
        start.launcher = words.launcher;
        start.process = *process;
        start.processes = *processes;
        break;
    }
    // srun --mpi=pmi2 sets the same variables as MPICH's launcher. Only that launcher sets the local rank.
    const bool is_of_srun = start.launcher == Launcher::mpiexec_of_mpich && is_step;
    if (is_of_srun && variables("MPI_LOCALRANKID") == nullptr) start.launcher = Launcher::srun;
    return start;
}

}  // namespace trireme
