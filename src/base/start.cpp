#include "trireme/base/start.hpp"

#include <array>
#include <charconv>
#include <optional>
#include <string_view>

namespace trireme {
namespace {

std::optional<int> number_in(const char* text) {
    if (text == nullptr) return std::nullopt;
    const std::string_view digits(text);
    int number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return number;
}

}  // namespace

// Where srun starts a process, it says of which step; what is outside of a step only inherits a job's words.
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
    const bool is_step = number_in(variables("SLURM_STEP_ID")).has_value();
    Start start{.has_pmix = variables("PMIX_RANK") != nullptr, .has_pmi = variables("PMI_RANK") != nullptr};
    for (const Words& words : all) {
        const std::optional<int> process = number_in(variables(words.process));
        const std::optional<int> processes = number_in(variables(words.processes));
        if (!process || !processes || (words.launcher == Launcher::srun && !is_step)) continue;
        start.launcher = words.launcher;
        start.process = *process;
        start.processes = *processes;
        break;
    }
    // srun's --mpi=pmi2 speaks as MPICH's launcher does, which alone says a process's place on its node.
    const bool is_of_srun = start.launcher == Launcher::mpiexec_of_mpich && is_step;
    if (is_of_srun && variables("MPI_LOCALRANKID") == nullptr) start.launcher = Launcher::srun;
    return start;
}

}  // namespace trireme
