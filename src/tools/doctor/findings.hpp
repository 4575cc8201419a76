// Findings: what the facts mean for training on this machine, and their report for people and for programs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/doctor/facts.hpp"

namespace trireme::tools::doctor {

// `missing` is something that a run can do without; `fails` prevents any run; a
// `warning` works, but has advice.
enum class Status : std::uint8_t { ok, warning, missing, fails };

struct Finding {
    std::string name;  // "scratch"
    Status status = Status::ok;
    std::string text = {};    // with figures
    std::string advice = {};  // what to do; empty if nothing
};

const char* name_of(Status status);      // "ok"
const char* name_of(Launcher launcher);  // "srun"; "none"

// Returns all findings in the order in which they are reported.
std::vector<Finding> findings_of(const Facts& facts);

// Groups of findings that findings_of() joins.
std::vector<Finding> start_findings(const Facts& facts);    // program, MPI, ranks, the job
std::vector<Finding> machine_findings(const Facts& facts);  // cores, memory, arithmetic, GPUs
std::vector<Finding> speed_findings(const Facts& facts);    // HDF5, scratch, links

// Returns true if no finding fails.
bool do_all_work(const std::vector<Finding>& findings);

// Judges whether every rank has a GPU of its own that CUDA can use.
Finding gpu_finding(const Facts& facts);

// Reports the state of the GPUs that ranks would use, as the driver reads it, and
// anything that slows them down.
std::vector<Finding> gpu_state_findings(const Facts& facts);

// Returns the GPU that each rank would use, by its position among the ranks of its node.
std::vector<std::optional<Gpu>> gpus_taken(const std::vector<RankFacts>& ranks);

// Returns the ranks per node; the key is the lowest rank of the node.
std::map<int, std::vector<int>> ranks_of_nodes(const std::vector<RankFacts>& ranks);

// Formats one line per finding and one per advice. The last line says whether everything works.
std::string to_string(const std::vector<Finding>& findings);

// Returns one object with findings and facts, in bytes, seconds, and operations per second.
std::string json_of(const Facts& facts, const std::vector<Finding>& findings);

// Convert the facts of a rank to and from an entry of "ranks" in the object above. Every rank sends it to rank
// 0. Keys that another build did not write leave their fields empty.
std::string json_of(const RankFacts& rank);
RankFacts rank_of_json(const std::string& text);

}  // namespace trireme::tools::doctor
