// Findings: conclusions from the facts about training on this machine. They are reported as text or as JSON.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/doctor/facts.hpp"

namespace trireme::tools::doctor {

// ok: works. warning: works, but the finding has advice. missing: a run can do without it. fails: no run is
// possible.
enum class Status : std::uint8_t { ok, warning, missing, fails };

struct Finding {
    std::string name;  // "scratch"
    Status status = Status::ok;
    std::string text = {};    // the conclusion, with figures
    std::string advice = {};  // what to do; empty if nothing
};

const char* to_string(Status status);      // "ok"
const char* to_string(Launcher launcher);  // "srun"; "none"

// Returns all findings in the order in which they are reported.
std::vector<Finding> judge_facts(const Facts& facts);

// Return groups of findings, which judge_facts() concatenates.
std::vector<Finding> judge_start(const Facts& facts);    // program, MPI, ranks, the job
std::vector<Finding> judge_machine(const Facts& facts);  // cores, memory, arithmetic, GPUs
std::vector<Finding> judge_speeds(const Facts& facts);   // HDF5, scratch, links

// Returns true if no finding fails.
bool is_everything_working(const std::vector<Finding>& findings);

// Judges whether every rank has a GPU of its own that CUDA can use.
Finding judge_gpus(const Facts& facts);

// Returns the state of the GPUs that the ranks would use, as the driver reports it, and warnings about
// everything that slows these GPUs down.
std::vector<Finding> judge_gpu_states(const Facts& facts);

// Returns, per rank, the GPU that it would use in a run; empty if it sees none. See choose_gpu().
std::vector<std::optional<Gpu>> choose_gpus(const std::vector<RankFacts>& ranks);

// Returns the ranks per node; the key is the lowest rank of the node.
std::map<int, std::vector<int>> group_ranks_by_node(const std::vector<RankFacts>& ranks);

// Formats one line per finding and one per advice. The last line says whether everything works.
std::string to_string(const std::vector<Finding>& findings);

// Returns a JSON object with findings and facts. Units are bytes, seconds, and FLOP/s.
std::string to_json(const Facts& facts, const std::vector<Finding>& findings);

// Convert the facts of a rank to and from JSON, in the format of an entry of "ranks" in the object above. Ranks
// send this text to rank 0. Fields whose keys are absent, because another version wrote the text, stay empty.
std::string to_json(const RankFacts& rank);
RankFacts parse_rank_facts(const std::string& text);

}  // namespace trireme::tools::doctor
