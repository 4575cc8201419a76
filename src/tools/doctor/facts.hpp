// Facts that `trireme doctor` gathers, before they are judged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/doctor/gpus.hpp"
#include "trireme/base/job.hpp"

namespace trireme::tools::doctor {

// Results of the test of the scratch folder on one node. If `failure` is set, both speeds are 0.
struct ScratchFacts {
    std::string failure = {};       // why the folder cannot be used; empty if it can
    std::string hdf5_failure = {};  // why HDF5 does not work in the folder; empty if it works or was not tried
    double written_bytes_per_s = 0;
    double read_bytes_per_s = 0;
    double free_bytes = 0;  // 0 if unknown
};

// The facts that a rank reports about its machine.
struct RankFacts {
    std::string program = {};      // version of this program
    std::string mpi_library = {};  // name and version
    std::string host = {};
    std::string processor = {};
    int node = 0;                 // the lowest rank on the same node
    std::vector<int> cores = {};  // numbers of the cores that the rank may use
    int node_cores = 0;           // number of all cores of its node
    int threads = 1;              // number of threads of the rank's kernels
    double flops = 0;             // measured FLOP/s in f32 of all these threads together
    double node_bytes = 0;        // memory of its node
    // Memory left on the node or in the rank's control group (cgroup), whichever is less. 0 if unknown.
    double available_bytes = 0;
    std::string memory_group = {};          // path of that control group; empty if the node has less left
    double memory_group_bytes = 0;          // memory limit of that control group
    std::vector<Gpu> gpus = {};             // GPUs that the rank may use
    std::vector<GpuState> gpu_states = {};  // per entry of `gpus`
    // Why CUDA cannot use `gpus`. Empty if CUDA can use them, if there are no GPUs, or in a build without CUDA.
    std::string cuda_complaint = {};
    int node_gpus = 0;                         // number of GPUs of the rank's node, usable or not
    std::optional<ScratchFacts> scratch = {};  // set on the first rank of each node, which tested the folder
};

// Measured messages between two ranks: see measure_pair().
struct PairFacts {
    int first = 0;           // rank
    int second = 0;          // rank
    double seconds = 0;      // time of one message of 8 bytes
    double bytes_per_s = 0;  // bandwidth for messages of 4 MiB
};

// Software that a run can do without.
struct OptionalSoftware {
    std::string name;
    bool is_installed = false;
    std::string purpose;  // what the software provides
    bool needs_rebuild;   // if true, Trireme must be rebuilt after the installation
    std::string debian;   // names of its Debian packages, separated by spaces
    std::string spack;    // its Spack spec, for example "simgrid +smpi"
};

// All facts, gathered on rank 0, which judges them.
struct Facts {
    // Names and versions of what this program was built with.
    std::string compiler = {};
    std::string hdf5 = {};
    std::string matmul_library = {};
    bool has_cuda = false;                        // true if this program was built with CUDA
    std::string scratch = {};                     // the tested folder
    ProcessStart start = {};                      // how rank 0 was started
    std::string job = {};                         // Slurm's job ID; empty outside of a job
    std::optional<double> job_seconds_left = {};  // empty if unknown
    std::vector<RankFacts> ranks = {};            // one entry per rank
    std::vector<PairFacts> pairs = {};            // empty if there is one rank
    std::vector<OptionalSoftware> optional_software = {};
};

}  // namespace trireme::tools::doctor
