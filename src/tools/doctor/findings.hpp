// What facts mean for whoever wants to train here, and the account of it for people and for programs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/doctor/facts.hpp"

namespace trireme::tools::doctor {

// Something is missing where a run does without it; it fails where no run will do.
// A warning works, and gives advice.
enum class Status : std::uint8_t { ok, warning, missing, fails };

struct Finding {
    std::string name;  // "scratch"
    Status status = Status::ok;
    std::string text = {};    // with figures
    std::string advice = {};  // what to do; empty: nothing
};

const char* name_of(Status status);      // "ok"
const char* name_of(Launcher launcher);  // "srun"; "none"

// In the order in which they are told.
std::vector<Finding> findings_of(const Facts& facts);

// The parts of findings_of().
std::vector<Finding> start_findings(const Facts& facts);    // program, MPI, ranks, the job
std::vector<Finding> machine_findings(const Facts& facts);  // cores, memory, arithmetic, GPUs
std::vector<Finding> speed_findings(const Facts& facts);    // HDF5, scratch, links

bool do_all_work(const std::vector<Finding>& findings);

// Whether every rank has a GPU, and how those are.
Finding gpu_finding(const Facts& facts);

// How the GPUs are that ranks would take: what the driver tells of them, and what of that slows a run down.
std::vector<Finding> gpu_state_findings(const Facts& facts);

// For each rank the device that it would take, by its place among the ranks of its node.
std::vector<std::optional<Gpu>> gpus_taken(const std::vector<RankFacts>& ranks);

// By node, that is, by the first of its ranks.
std::map<int, std::vector<int>> ranks_of_nodes(const std::vector<RankFacts>& ranks);

// A line for each finding and one for its advice, and a last one that says whether all is well.
std::string to_string(const std::vector<Finding>& findings);

// One object: findings, and the facts behind them. Bytes, seconds, and operations a second.
std::string json_of(const Facts& facts, const std::vector<Finding>& findings);

// What a rank tells rank 0: an entry of "ranks" in the object above. What another build has not said is empty.
std::string json_of(const RankFacts& rank);
RankFacts rank_of_json(const std::string& text);

}  // namespace trireme::tools::doctor
