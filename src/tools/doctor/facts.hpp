// What `trireme doctor` found, before anybody judges it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/doctor/gpus.hpp"
#include "trireme/base/job.hpp"

namespace trireme::tools::doctor {

// Of a folder, by one rank of a node. What could not be done is a sentence, and no figures follow it.
struct ScratchFacts {
    std::string failure = {};
    std::string hdf5_failure = {};
    double written_bytes_per_s = 0;
    double read_bytes_per_s = 0;
    double free_bytes = 0;
};

struct RankFacts {
    std::string program = {};  // its version
    std::string library = {};  // MPI's
    std::string host = {};
    std::string processor = {};
    int node = 0;                 // the first rank that shares its memory
    std::vector<int> cores = {};  // that it may run on
    int node_cores = 0;           // of its machine, whoever may run on them
    int threads = 1;
    double flops = 0;  // a second, of these threads: multiplications and additions in f32
    double node_bytes = 0;
    double available_bytes = 0;
    std::string memory_group = {};  // the control group whose limit leaves the least; empty: the node does
    double group_bytes = 0;         // that limit
    std::vector<Gpu> gpus = {};     // that it may use
    std::vector<GpuState> gpu_states = {};     // of each of them
    std::string cuda_complaint = {};           // why CUDA uses none of them; empty: it does, or is not there
    int node_gpus = 0;                         // that its machine shows
    std::optional<ScratchFacts> scratch = {};  // of the rank that looked
};

// Messages between two ranks, to and fro.
struct PairFacts {
    int first = 0;
    int second = 0;
    double seconds = 0;  // until eight bytes are there
    double bytes_per_s = 0;
};

// Something that a run may do without.
struct OptionalPart {
    std::string name;
    bool is_there = false;
    std::string gives;  // what for
    bool is_built_in;   // whoever gets it builds again
    std::string debian;
    std::string spack;
};

struct Facts {
    std::string compiler = {};
    std::string hdf5 = {};
    std::string matrices = {};
    bool has_cuda = false;
    std::string scratch = {};  // the folder
    Start start = {};
    std::string job = {};  // Slurm's; empty: none
    std::optional<double> job_seconds_left = {};
    std::vector<RankFacts> ranks = {};  // by rank; at least one
    std::vector<PairFacts> pairs = {};
    std::vector<OptionalPart> parts = {};
};

}  // namespace trireme::tools::doctor
