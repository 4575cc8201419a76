// Facts that `trireme doctor` gathers, before they are judged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/doctor/gpus.hpp"
#include "trireme/base/job.hpp"

namespace trireme::tools::doctor {

// Results of the scratch folder test of one node. Figures of a failed test are 0.
struct ScratchFacts {
    std::string failure = {};       // why the folder cannot be used; empty if it can
    std::string hdf5_failure = {};  // why an HDF5 file could not be written and read; empty if it could
    double written_bytes_per_s = 0;
    double read_bytes_per_s = 0;
    double free_bytes = 0;
};

// The facts that a rank reports about its machine.
struct RankFacts {
    std::string program = {};      // version of this program
    std::string mpi_library = {};  // name and version
    std::string host = {};
    std::string processor = {};
    int node = 0;                   // the lowest rank on the same node
    std::vector<int> cores = {};    // cores that the rank may use
    int node_cores = 0;             // number of all cores of its node
    int threads = 1;                // threads of the rank's kernels
    double flops = 0;               // measured FLOP/s of these threads in f32
    double node_bytes = 0;          // memory of its node
    double available_bytes = 0;     // memory left in the node or the control group, the lesser; 0: unknown
    std::string memory_group = {};  // path of the control group that limits memory; empty if none
    double memory_group_bytes = 0;  // limit of that control group
    std::vector<Gpu> gpus = {};     // GPUs that the rank may use
    std::vector<GpuState> gpu_states = {};     // per entry of gpus
    std::string cuda_complaint = {};           // why CUDA cannot use the GPUs; empty if it can, or without CUDA
    int node_gpus = 0;                         // number of GPUs of its node, usable or not
    std::optional<ScratchFacts> scratch = {};  // set on the rank of each node that tested the folder
};

// Measured messages between two ranks: see measure_pair().
struct PairFacts {
    int first = 0;  // ranks
    int second = 0;
    double seconds = 0;      // time of a message of eight bytes
    double bytes_per_s = 0;  // of large messages
};

// Software that a run can do without.
struct OptionalSoftware {
    std::string name;
    bool is_installed = false;
    std::string purpose;  // what it provides
    bool needs_rebuild;   // if true, Trireme must be rebuilt after the installation
    std::string debian;   // names of its Debian packages
    std::string spack;
};

// All facts, as rank 0 judges them.
struct Facts {
    std::string compiler = {};  // name and version, as in `hdf5` and `matmul_library`
    std::string hdf5 = {};
    std::string matmul_library = {};
    bool has_cuda = false;
    std::string scratch = {};  // the tested folder
    ProcessStart start = {};
    std::string job = {};  // Slurm's job ID; empty outside of a job
    std::optional<double> job_seconds_left = {};
    std::vector<RankFacts> ranks = {};  // by rank; at least one
    std::vector<PairFacts> pairs = {};
    std::vector<OptionalSoftware> optional_software = {};
};

}  // namespace trireme::tools::doctor
