#include <filesystem>

#include "tools/doctor/probes.hpp"
#include "trireme/base/regular_file.hpp"

namespace trireme::tools::doctor {
namespace {

namespace fs = std::filesystem;

bool has_command(const std::string& search_path, const std::string& name) {
    return find_command(search_path, name).has_value();
}

// Looks for MPICH if this program is built with Open MPI, otherwise for Open MPI. In Debian, the launch
// commands of the two libraries have different names.
OptionalSoftware find_second_mpi(const std::string& search_path, const std::string& mpi_library) {
    const bool is_open_mpi = mpi_library.starts_with("Open MPI");
    return {.name = is_open_mpi ? "MPICH" : "Open MPI",
            .is_installed = has_command(search_path, is_open_mpi ? "mpiexec.mpich" : "mpirun.openmpi") ||
                            (is_open_mpi && has_command(search_path, "mpiexec.hydra")),
            .purpose = "a second MPI library; the multi-rank tests then run with both",
            .needs_rebuild = true,
            .debian = is_open_mpi ? "libmpich-dev mpich" : "libopenmpi-dev openmpi-bin",
            .spack = is_open_mpi ? "mpich" : "openmpi"};
}

}  // namespace

std::vector<OptionalSoftware> find_optional_software(const std::string& search_path,
                                                     const std::string& program_folder,
                                                     const std::string& matmul_library,
                                                     const std::string& mpi_library) {
    const auto has = [&](const char* command) { return has_command(search_path, command); };
    std::error_code error;
    const bool can_simulate = has("smpirun") && fs::exists(fs::path(program_folder) / "trireme-sim", error);
    return {{.name = "mpirun",
             .is_installed = has("mpirun") || has("mpiexec") || has("srun"),
             .purpose = "mpirun or srun, which starts more than one rank",
             .needs_rebuild = false,
             .debian = "openmpi-bin",
             .spack = "openmpi"},
            {.name = "Slurm",
             .is_installed = has("srun") && has("sbatch"),
             .purpose = "srun and sbatch, which start jobs on a cluster",
             .needs_rebuild = false,
             .debian = "slurm-client",
             .spack = "slurm"},
            {.name = "oneDNN",
             .is_installed = matmul_library.starts_with("oneDNN"),
             .purpose = "matmuls that are faster than those of a BLAS library",
             .needs_rebuild = true,
             .debian = "libdnnl-dev",
             .spack = "onednn"},
            {.name = "SimGrid",
             .is_installed = can_simulate,
             .purpose = "smpirun and trireme-sim, which `trireme simulate` needs",
             .needs_rebuild = true,
             .debian = "libsimgrid-dev",
             .spack = "simgrid +smpi"},
            find_second_mpi(search_path, mpi_library)};
}

}  // namespace trireme::tools::doctor
