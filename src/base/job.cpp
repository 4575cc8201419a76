#include "trireme/base/job.hpp"

#include <array>
#include <charconv>
#include <chrono>
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

// Of the launchers, the innermost: mpirun inside of an allocation also inherits what Slurm said of the script.
std::optional<int> local_rank_in(Variables variables) {
    constexpr std::array names{"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"};
    for (const char* name : names) {
        if (const std::optional<int> rank = number_in<int>(variables(name))) return rank;
    }
    return std::nullopt;
}

std::string text_or_empty(const char* text) { return text == nullptr ? "" : text; }

}  // namespace

Job job_of(Variables variables) {
    Job job;
    job.id = text_or_empty(variables("SLURM_JOB_ID"));
    job.restarts = number_in<int>(variables("SLURM_RESTART_COUNT")).value_or(0);
    job.end_time = number_in<double>(variables("SLURM_JOB_END_TIME"));
    job.cores_per_rank = number_in<int>(variables("SLURM_CPUS_PER_TASK"));
    job.local_rank = local_rank_in(variables);
    if (const char* devices = variables("CUDA_VISIBLE_DEVICES")) job.visible_devices = devices;
    return job;
}

std::optional<double> seconds_left(const Job& job) {
    if (!job.end_time) return std::nullopt;
    const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
    return *job.end_time - std::chrono::duration<double>(since_1970).count();
}

}  // namespace trireme
