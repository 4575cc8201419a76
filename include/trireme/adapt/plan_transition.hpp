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
    bool moves_state = true;  // false: every tensor stays where it is, and only shares of work change
    std::size_t elements_in_flight = 0;  // that a rank may send and receive at a time
    rank::StateMoves moves = {};         // by messages
    rank::TwinMoves twin_moves = {};     // through the memory of nodes, for --move twins

    // Bytes that ranks send to each other by messages, and that stay on their rank.
    std::size_t moved_bytes(const setup::Job& job) const;
    std::size_t kept_bytes(const setup::Job& job) const;

    // The most bytes that a rank holds while its state moves, without messages in flight.
    std::size_t moving_bytes(const setup::Job& job, int rank) const;
    // The most bytes that a rank holds during the change and in the next plan.
    std::size_t max_bytes(const setup::Job& job, int rank) const;
    // The bytes that the ranks of a node share during the change; 0 unless the state moves through node memory.
    std::size_t node_bytes(const setup::Job& job, int node) const;
};

// Plans the change from `from` that the decision asks for; `nodes` has the node of each rank. Throws
// ConfigError if options, model and ranks do not fit the decision, if it was recorded for another plan or led
// to another one, and if it needs more memory than --memory-limit, during the change or after it.
PlanTransition plan_transition(const setup::Job& job, const setup::PlanState& from,
                               const std::vector<int>& nodes, const plan::Decision& decision);

// As plan_transition(), but gives the reason in `why` instead of throwing ConfigError.
std::optional<PlanTransition> possible_transition(const setup::Job& job, const setup::PlanState& from,
                                                  const std::vector<int>& nodes, const plan::Decision& decision,
                                                  std::string& why);

// True if both plans place every tensor alike.
bool stays_in_place(const plan::Plan& from, const plan::Plan& to);

// Throws ConfigError if --move and --on-nan do not allow a run to enter or leave this plan.
void check_change(const config::RunConfig& config, const plan::Plan& plan);

// Replaces the plan of the run. If the state stays in place, only the shares of work are replaced, which the
// trainer reads anew before the next step.
void apply(PlanTransition& transition, setup::PlanState& current);

// The most bytes that the changes of a run take.
struct ChangeMemory {
    std::size_t rank = 0;  // in one rank
    std::size_t node = 0;  // shared by the ranks of a node
};

// The changes that --decisions asks for after the first step of this start.
struct RecordedChanges {
    std::vector<plan::Decision> decisions = {};
    ChangeMemory memory = {};
};

}  // namespace trireme::adapt
