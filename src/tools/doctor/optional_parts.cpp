#include <filesystem>

#include "tools/doctor/probes.hpp"
#include "trireme/base/regular_file.hpp"

namespace trireme::tools::doctor {
namespace {

namespace fs = std::filesystem;

bool has_command(const std::string& search_path, const std::string& name) {
    return command_path(search_path, name).has_value();
}

// Looks for commands by Debian's names, which tell the libraries apart if several are installed.
OptionalPart second_library(const std::string& search_path, const std::string& mpi) {
    const bool is_open_mpi = mpi.starts_with("Open MPI");
    return {.name = is_open_mpi ? "MPICH" : "Open MPI",
            .is_there = has_command(search_path, is_open_mpi ? "mpiexec.mpich" : "mpirun.openmpi") ||
                        (is_open_mpi && has_command(search_path, "mpiexec.hydra")),
            .gives = "a second MPI library, under which rank tests run, too",
            .is_built_in = true,
            .debian = is_open_mpi ? "libmpich-dev mpich" : "libopenmpi-dev openmpi-bin",
            .spack = is_open_mpi ? "mpich" : "openmpi"};
}

}  // namespace

std::vector<OptionalPart> optional_parts(const std::string& search_path, const std::string& own_folder,
                                         const std::string& matrices, const std::string& mpi) {
    const auto has = [&](const char* command) { return has_command(search_path, command); };
    std::error_code none;
    const bool simulates = has("smpirun") && fs::exists(fs::path(own_folder) / "trireme-sim", none);
    return {{.name = "mpirun",
             .is_there = has("mpirun") || has("mpiexec") || has("srun"),
             .gives = "mpirun or srun, which starts more than one rank",
             .is_built_in = false,
             .debian = "openmpi-bin",
             .spack = "openmpi"},
            {.name = "Slurm",
             .is_there = has("srun") && has("sbatch"),
             .gives = "srun and sbatch, which start jobs on a cluster",
             .is_built_in = false,
             .debian = "slurm-client",
             .spack = "slurm"},
            {.name = "oneDNN",
             .is_there = matrices.starts_with("oneDNN"),
             .gives = "matrix products that are quicker than a BLAS's",
             .is_built_in = true,
             .debian = "libdnnl-dev",
             .spack = "onednn"},
            {.name = "SimGrid",
             .is_there = simulates,
             .gives = "smpirun and trireme-sim, which `trireme simulate` needs",
             .is_built_in = true,
             .debian = "libsimgrid-dev",
             .spack = "simgrid +smpi"},
            second_library(search_path, mpi)};
}

}  // namespace trireme::tools::doctor
