// Chooses the changes of plan of a run: recorded decisions are replayed, otherwise the requested policy decides
// from the observed steps. All ranks make equal choices.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trireme/adapt/change_estimate.hpp"
#include "trireme/adapt/observer.hpp"
#include "trireme/adapt/plan_transition.hpp"
#include "trireme/adapt/straggler_policy.hpp"
#include "trireme/comm/communicator.hpp"
#include "trireme/layout/links.hpp"
#include "trireme/policy/policy.hpp"
#include "trireme/rank/state_moves.hpp"
#include "trireme/records/figures.hpp"

namespace trireme::adapt {

// A change of plan that fits the model, the ranks and the memory.
struct Choice {
    plan::Decision decision;
    PlanTransition transition;
    bool is_recorded = false;  // the decision comes from --decisions and was known before the first step
};

// Returns the first step after `first` at which the policy looks at the observations; `steps` if there is none.
std::size_t next_look(const config::PolicyConfig& policy, std::size_t first, std::size_t steps);

// Collective over `control`. Throws ConfigError if ranks chose different plans after `step` steps. Plans also
// depend on files, which may differ between nodes. A null `choice` keeps the plan.
void refuse_unlike_plans(comm::Communicator& control, const Choice* choice, std::size_t step);

class Deciding {
public:
    // `job`, `current` and `nodes` (the node of each rank) must outlive the object. `recorded` holds the
    // decisions of --decisions.
    Deciding(const setup::Job& job, const setup::PlanState& current, setup::PlanOrigin origin,
             const std::vector<int>& nodes, std::vector<plan::Decision> recorded);

    // Sets the measured links. Until then messages are assumed to cost nothing.
    void know_links(const layout::RankLinks& links);

    // Adds a step to the observation and writes the slowness of the ranks to `outcome`. Returns the changes of
    // slowness.
    std::vector<policy::SlownessChange> observe(records::StepOutcome& outcome) {
        return observer_.add(outcome);
    }

    // Returns the observation after `step` steps.
    plan::Observation observed(std::size_t step) const { return observer_.observed(step); }

    // Returns the change of plan after `step` steps; empty if the plan stays. Throws ConfigError if a recorded
    // decision is impossible.
    std::optional<Choice> choose(std::size_t step);
    // True if a policy looks at the observations after `step` steps. Ranks may then choose other channels to
    // prune.
    bool is_look(std::size_t step) const;
    // True if the plan may change after `step` steps: a policy looks, or --decisions has a line for them.
    bool may_change_plan(std::size_t step) const;
    // Called after a change of plan. Completes the decision with what the change has shown.
    void note(plan::Decision& decision, const records::PlanChange& change);

    // Returns the first step after `first` at which the plan may change; the number of steps if there is none.
    std::size_t next_chance(std::size_t first) const;

    // Notes why a change that a policy wanted is not made. A repeated reason is reported once, until the policy
    // wants nothing or the plan changes.
    void refuse(const std::string& why) { complaint_ = why; }
    std::string take_complaint();  // returns the reason to report and clears it; empty if there is none

    const setup::PlanOrigin& origin() const { return origin_; }

private:
    // The migrations of the current plan, compared with the steps before they began.
    struct Help {
        std::size_t begun = 0;         // step after which the first migration began
        double seconds_of_flop = 0;    // step time per flop before that; 0 if unknown
        std::vector<double> left_out;  // skipped fractions per rank before that
        std::size_t changed = 0;       // step after which the migrations last changed
        bool is_judged = false;
    };

    bool is_recorded(std::size_t step) const;
    void note_silence(const plan::Observation& observed);
    std::optional<plan::Decision> wanted(const plan::Observation& observed);
    std::optional<plan::Decision> take_back(const plan::Observation& observed);
    double predict_seconds(const PlanTransition& transition) const;
    bool repays(const plan::Decision& decision, const PlanTransition& transition);
    void offer_help(std::size_t step, const plan::Observation& observed, const PlanTransition& transition);

    const setup::Job& job_;
    const setup::PlanState& current_;
    setup::PlanOrigin origin_;
    const std::vector<int>& nodes_;
    std::vector<plan::Decision> recorded_;
    policy::Policy policy_;  // replays recorded decisions, if there are any
    Observer observer_;
    ChangeEstimate estimate_;
    layout::Link link_;                      // link over which state moves
    std::optional<Help> help_;               // current migrations
    std::optional<Help> offered_;            // migrations of the last choice, which may not be carried out
    bool offers_to_take_back_ = false;       // the last choice ends the migrations
    std::optional<std::size_t> taken_back_;  // step after which migrations were ended
    std::string complaint_;                  // not reported yet
    std::string last_complaint_;             // last one that was reported
};

}  // namespace trireme::adapt
