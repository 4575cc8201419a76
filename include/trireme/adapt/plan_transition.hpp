// A change from the plan that a run is in to the plan of a decision: planned and checked once, then applied.
#pragma once

#include <optional>
#include <string>

#include "trireme/plan/decision.hpp"
#include "trireme/rank/twin_moves.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::adapt {

struct PlanTransition {
    const setup::PlanState& from;  // the plan that the run is in, until the transition is applied
    setup::PlanState to = {};
    bool moves_state = true;  // if false, tensors stay in place and only skipped and offloaded work changes
    std::size_t elements_in_flight = 0;  // max. elements that a rank sends and receives at a time
    rank::StateMoves moves = {};         // moves by messages
    rank::TwinMoves twin_moves = {};     // moves through node memory, for --move twins

    // Bytes of state, summed over ranks, that travel by messages and that stay on their rank.
    std::size_t moved_bytes(const setup::Job& job) const;
    std::size_t kept_bytes(const setup::Job& job) const;

    // Peak bytes of a rank while its state moves, without messages in flight.
    std::size_t moving_bytes(const setup::Job& job, int rank) const;
    // Peak bytes of a rank during the change and in the next plan.
    std::size_t max_bytes(const setup::Job& job, int rank) const;
    // Bytes of node memory that the ranks of a node share during the change; 0 without --move twins.
    std::size_t node_bytes(const setup::Job& job, int node) const;
};

// Plans the change from `from` that the decision requests. `nodes` has the node of each rank. Throws
// ConfigError if options, model and ranks do not fit the decision, or if its recorded plan hashes do not match.
// Also throws ConfigError if the change or the new plan needs more memory than --memory-limit. `from` must
// outlive the result.
PlanTransition plan_transition(const setup::Job& job, const setup::PlanState& from,
                               const std::vector<int>& nodes, const plan::Decision& decision);

// Same as plan_transition(), but writes the reason to `why` and returns nothing instead of throwing
// ConfigError.
std::optional<PlanTransition> possible_transition(const setup::Job& job, const setup::PlanState& from,
                                                  const std::vector<int>& nodes, const plan::Decision& decision,
                                                  std::string& why);

// True if both plans hold every tensor on the same ranks, so that no state has to move.
bool stays_in_place(const plan::Plan& from, const plan::Plan& to);

// Throws ConfigError if --move or --on-nan forbids a change to or from this plan.
void check_change(const config::RunConfig& config, const plan::Plan& plan);

// Replaces the plan of the run. If the state stays in place, only the skipped fractions and the migrations are
// replaced; the trainer reads them before the next step.
void apply(PlanTransition& transition, setup::PlanState& current);

// Peak bytes during the changes of a run.
struct ChangeMemory {
    std::size_t rank = 0;  // of this rank
    std::size_t node = 0;  // shared by the ranks of its node
};

// The decisions of --decisions that take effect in this start, and the memory that they need.
struct RecordedChanges {
    std::vector<plan::Decision> decisions = {};
    ChangeMemory memory = {};
};

}  // namespace trireme::adapt
