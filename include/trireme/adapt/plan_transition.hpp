// A change from the current plan of a run to the plan of a decision. It is planned and checked once, then
// applied.
#pragma once

#include <optional>
#include <string>

#include "trireme/plan/decision.hpp"
#include "trireme/rank/staged_moves.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::adapt {

struct PlanTransition {
    const setup::PlanState& from;  // plan before the change
    setup::PlanState to = {};      // plan after the change
    bool moves_state = true;       // if false, tensors stay in place: see have_equal_placement()
    // Maximum number of elements that a rank has in messages at a time: sent plus received elements.
    std::size_t max_elements_in_flight = 0;
    rank::StateMoves moves = {};          // moves by messages
    rank::StagedMoves staged_moves = {};  // moves through node memory, for `--move twins`

    // Returns the bytes of state, summed over all ranks, that are sent to another rank.
    std::size_t count_moved_bytes(const setup::Job& job) const;
    // Returns the bytes of state, summed over all ranks, that stay on their rank.
    std::size_t count_kept_bytes(const setup::Job& job) const;
    // Returns the kept bytes that are not copied: those of all parameters if the layout stays, otherwise 0.
    std::size_t count_bytes_in_place(const setup::Job& job) const;
    bool keeps_layout() const { return from.plan.layout == to.plan.layout; }

    // Returns the peak bytes of a rank while its state moves, without message buffers; 0 with `--move restart`.
    std::size_t predict_moving_bytes(const setup::Job& job, int rank) const;
    // Returns the larger of two peaks of a rank, in bytes: during the change, with message buffers, and under
    // the new plan.
    std::size_t predict_max_bytes(const setup::Job& job, int rank) const;
    // Returns the bytes of memory that the ranks of a node share during the change; 0 without `--move twins`.
    // `node` is the lowest rank on the node.
    std::size_t predict_node_bytes(const setup::Job& job, int node) const;
};

// Plans the change from `from` to the plan of the decision. `from` must outlive the result.
// Throws ConfigError in three cases:
//   - The decision does not fit the options, the model or the ranks.
//   - The decision contains a hash that differs from the hash of the plan before or after the change.
//   - The change or the new plan needs more memory than --memory-limit.
PlanTransition plan_transition(const setup::Job& job, const setup::PlanState& from,
                               const plan::Decision& decision);

// Same as plan_transition(), but does not throw ConfigError: writes the message of the error to `why` and
// returns nullopt.
std::optional<PlanTransition> try_plan_transition(const setup::Job& job, const setup::PlanState& from,
                                                  const plan::Decision& decision, std::string& why);

// Returns only PlanTransition::to, for a change before the run has any state. Throws the errors of
// plan_transition(), except those of the change itself. If `baseline` is not null, sets it to the step before
// --energy chose the clocks.
setup::PlanState make_state(const setup::Job& job, const setup::PlanState& from, int ranks,
                            const plan::Decision& decision,
                            std::optional<setup::StepFigures>* baseline = nullptr);

// Returns only PlanTransition::to, and does not check the change from `from` to this plan. If the plan itself
// is impossible, writes the reason to `why` and returns nullopt. If `may_exceed_memory` is true, the plan may
// exceed --memory-limit.
std::optional<setup::PlanState> try_make_state(const setup::Job& job, const setup::PlanState& from, int ranks,
                                               const plan::Decision& decision, std::string& why,
                                               bool may_exceed_memory = false);

// Returns the seconds in which state that may be offloaded leaves the buffers of steps of the plan `from` and
// enters those of the plan `to`; 0 if there is none.
double predict_offload_seconds(const setup::Job& job, const setup::PlanState& from, const setup::PlanState& to);

// True if the plans have equal layouts, schedules, depths, numbers of micro-batches and extra forwards. Such
// plans differ only in skipped and offloaded work, and in the clocks of passes. Each rank holds the same
// tensors under both plans, so no state has to move.
bool have_equal_placement(const plan::Plan& from, const plan::Plan& to);

// Throws ConfigError if --move or --on-nan forbids a change to or from `plan`.
void check_change(const config::RunConfig& config, const plan::Plan& plan);

// Peak bytes during a change of plan, or the maximum over several changes.
struct ChangeMemory {
    std::size_t rank = 0;  // memory of this rank
    std::size_t node = 0;  // node memory that the ranks of this rank's node share
};

// The decisions of --decisions that are not applied yet when the run starts or resumes. `memory` is the maximum
// over the changes of plan that these decisions require. `sets_clocks` is true if one of their plans sets
// clocks.
struct RecordedChanges {
    std::vector<plan::Decision> decisions = {};
    ChangeMemory memory = {};
    bool sets_clocks = false;
};

}  // namespace trireme::adapt
