// Facts that `trireme doctor` gathers, before they are judged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/doctor/gpus.hpp"
#include "trireme/base/job.hpp"

namespace trireme::tools::doctor {

// Results of the scratch folder test of one node. If a step failed, its failure is a
// sentence and its figures are 0.
struct ScratchFacts {
    std::string failure = {};
    std::string hdf5_failure = {};
    double written_bytes_per_s = 0;
    double read_bytes_per_s = 0;
    double free_bytes = 0;
};

// The facts that a rank reports about its machine.
struct RankFacts {
    std::string program = {};  // version of this program
    std::string library = {};  // MPI library
    std::string host = {};
    std::string processor = {};
    int node = 0;                 // lowest rank that shares its memory
    std::vector<int> cores = {};  // cores that the rank may use
    int node_cores = 0;           // all cores of its node
    int threads = 1;
    double flops = 0;  // per second on these threads: multiplications and additions in f32
    double node_bytes = 0;
    double available_bytes = 0;
    std::string memory_group = {};          // control group that leaves less memory than the node; or empty
    double group_bytes = 0;                 // limit of that control group
    std::vector<Gpu> gpus = {};             // GPUs that the rank may use
    std::vector<GpuState> gpu_states = {};  // per entry of gpus
    std::string cuda_complaint = {};        // why CUDA cannot use the GPUs; empty if it can, or is not built in
    int node_gpus = 0;                      // number of GPUs that its node shows
    std::optional<ScratchFacts> scratch = {};  // on the rank that tested it
};

// Times of messages between two ranks, in both directions.
struct PairFacts {
    int first = 0;
    int second = 0;
    double seconds = 0;  // to deliver eight bytes
    double bytes_per_s = 0;
};

// Software that a run can do without.
struct OptionalPart {
    std::string name;
    bool is_there = false;
    std::string gives;  // what it provides
    bool is_built_in;   // if true, Trireme must be rebuilt after installing it
    std::string debian;
    std::string spack;
};

struct Facts {
    std::string compiler = {};
    std::string hdf5 = {};
    std::string matrices = {};
    bool has_cuda = false;
    std::string scratch = {};  // the tested folder
    Start start = {};
    std::string job = {};  // Slurm's job ID; empty outside of a job
    std::optional<double> job_seconds_left = {};
    std::vector<RankFacts> ranks = {};  // by rank; at least one
    std::vector<PairFacts> pairs = {};
    std::vector<OptionalPart> parts = {};
};

}  // namespace trireme::tools::doctor
