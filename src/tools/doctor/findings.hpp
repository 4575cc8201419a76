// Findings: what the facts of `trireme doctor` mean for training on this machine. They are reported as text or
// as JSON.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/doctor/facts.hpp"

namespace trireme::tools::doctor {

// ok: works. warning: works, but the finding has advice. missing: does not work, but no run needs it. fails:
// does not work, so no run is possible.
enum class Status : std::uint8_t { ok, warning, missing, fails };

struct Finding {
    std::string name;  // for example "scratch"
    Status status = Status::ok;
    std::string text = {};    // the conclusion, with figures
    std::string advice = {};  // what to do; empty if nothing
};

const char* to_string(Status status);      // "ok"
const char* to_string(Launcher launcher);  // "srun"; "none"

// Returns all findings in the order of the report. An `ok` finding with advice becomes a `warning`.
std::vector<Finding> judge_facts(const Facts& facts);

// Return the findings on a group of subjects. judge_facts() concatenates these groups, and appends the findings
// on optional software. In these groups a finding with advice may have the status `ok`.
std::vector<Finding> judge_start(const Facts& facts);    // program, MPI, ranks, Slurm job
std::vector<Finding> judge_machine(const Facts& facts);  // cores, processors, memory, arithmetic, GPUs
std::vector<Finding> judge_speeds(const Facts& facts);   // HDF5, scratch, links

// Returns true if no finding has the status `fails`.
bool is_everything_working(const std::vector<Finding>& findings);

// Returns the finding on whether every rank has a GPU of its own that CUDA can use.
Finding judge_gpus(const Facts& facts);

// Returns the findings on the GPUs that the ranks would use: their driver, their state, and warnings about
// memory in use, low clocks and lowered power limits. Empty if no rank would use a GPU.
std::vector<Finding> judge_gpu_states(const Facts& facts);

// Returns, per rank, the GPU that the rank would use in a run; empty for a rank that sees no GPU. See
// choose_gpu().
std::vector<std::optional<Gpu>> choose_gpus(const std::vector<RankFacts>& ranks);

// Returns the ranks of each node, ascending. The key is the lowest rank of the node.
std::map<int, std::vector<int>> group_ranks_by_node(const std::vector<RankFacts>& ranks);

// Formats the report: a title, one line per finding and one per advice. The last line says whether everything
// works, or which findings fail.
std::string to_string(const std::vector<Finding>& findings);

// Returns a JSON object with findings and facts. Units are bytes, seconds and FLOP/s, unless the key names the
// unit.
std::string to_json(const Facts& facts, const std::vector<Finding>& findings);

// Convert the facts of a rank to and from JSON. The format is that of an entry of "ranks" in the report,
// without "takes_gpu". Ranks exchange their facts as this text. A key may be absent if a rank runs another
// version of the program. The field of an absent key keeps its default.
std::string to_json(const RankFacts& rank);
RankFacts parse_rank_facts(const std::string& text);

}  // namespace trireme::tools::doctor
