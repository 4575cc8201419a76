// A change of plan between two steps, with its reason: a line of decisions.jsonl.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/layout/layout.hpp"
#include "trireme/layout/migration.hpp"
#include "trireme/plan/pass_clocks.hpp"

namespace trireme::plan {

// A reason for a change of plan.
struct Cause {
    std::string proposer = {};                 // name of the proposer, for example "uneven"
    std::string reason = {};                   // explains the proposal to users
    std::map<std::string, double> terms = {};  // non-negative numbers by name

    friend bool operator==(const Cause&, const Cause&) = default;
};

// Decision::policy of decisions that change the clocks, and perhaps the order of passes, but not the layout:
// after each step with --reconfigure, after each change of the slowness of ranks, and after some steps at each
// clock that --clock-costs measures.
inline constexpr const char* reconfigure_policy = "reconfigure";
inline constexpr const char* energy_policy = "energy";
inline constexpr const char* sweep_policy = "sweep";

// A change of plan after a step, as a policy or the user decided it.
struct Decision {
    std::size_t step = 0;                            // the plan changes after this step
    layout::Layout layout = {};                      // the layout of the new plan
    std::optional<int> microbatches = {};            // number per step, over all replicas; empty if unchanged
    std::optional<std::size_t> batch = {};           // samples per step; empty if they follow from the options
    std::optional<std::string> schedule = {};        // name of the new schedule; empty if unchanged
    std::optional<int> frozen = {};                  // see Plan::frozen; empty if unchanged
    std::vector<double> skipped = {};                // per rank; see Plan::skipped
    std::vector<layout::Migration> migrations = {};  // see Plan::migrations
    std::vector<int> extra_forwards = {};  // per stage, of the new plan; empty if they follow from --energy
    PassClocks clocks = {};          // of the new plan; empty if they follow from --energy and the schedule
    std::string policy = {};         // name of the policy that decided; empty if unset
    std::string reason = {};         // explains the decision to users
    std::vector<Cause> causes = {};  // in the order of the proposers; empty if unknown
    std::string from = {}, to = {};  // compute_hash() of the old and the new plan; empty if unset
    // Non-negative numbers by name: reasons for the decision, for example "gain_s", and effects of the
    // decision, for example "moved_bytes".
    std::map<std::string, double> terms = {};
    std::optional<double> predicted_seconds = {};  // duration of the plan change; empty if unknown
    std::optional<double> measured_seconds = {};   // duration of the plan change; empty if unknown

    friend bool operator==(const Decision&, const Decision&) = default;
};

// Returns one sentence per rank that skips matmuls, for example "rank 1 skips 25 % of its matmuls". Also
// returns one sentence per rank that offloads matmuls, for example "ranks 0,2 compute 50 % of rank 1's
// matmuls". The list is empty if every rank computes all of its own matmuls.
std::vector<std::string> describe_sharing(const Decision& decision);

// True if the policy of the decision changes only clocks and the order of passes.
inline bool changes_only_clocks(const Decision& decision) {
    return decision.policy == reconfigure_policy || decision.policy == energy_policy ||
           decision.policy == sweep_policy;
}

// True if many such decisions may follow each other, each after one step or a few.
inline bool is_part_of_series(const Decision& decision) {
    return decision.policy == reconfigure_policy || decision.policy == sweep_policy;
}

// Parses `text`, the content of `file`, which has one decision per line:
//
//   {"step": 5, "policy": "by hand", "from": "31a0...", "to": "7bcb...", "layout": {...}, "microbatches": 4,
//   "batch": 64,
//    "schedule": "1f1b", "frozen": 8, "left_out": [0, 0.75],
//    "migrations": [{"from": 1, "to": 0, "parts": [0.25, 0.25, 0.25, 0.25]}],
//    "extra_forwards": [1, 0], "clocks": ["1530 14*900 1530", ["16*900", "16*990"]],
//    "reason": "...", "causes": [{"proposer": "uneven", "reason": "...", "terms": {...}}], "terms": {...},
//    "seconds": {"predicted": 0.2, "measured": 0.1}}
//
// Only "step" and "layout" are required. "left_out" is Decision::skipped, and "parts" has one fraction per
// layout::Matmul. "extra_forwards" has one number per stage. "clocks" has one entry per stage: the text of
// parse_replica_clocks() for all replicas of the stage, or a list with one text per replica. The "terms" of a
// cause are optional. Blank lines and lines with the key "no_change" are skipped. Throws ConfigError if another
// line is not a valid decision, or if the steps do not increase from line to line. The message names line and
// key.
std::vector<Decision> parse_decisions(std::string_view text, const std::string& file);
std::string to_json(const Decision& decision);  // without a line end
// Returns a line without a line end, for example {"step": 5, "no_change": "<why>"}. `why` is the reason for
// which the plan does not change after step `step`.
std::string plan_kept_to_json(std::size_t step, const std::string& why);

}  // namespace trireme::plan
