// How a run comes to another plan: what is recorded, or what the policies that were asked for make of what is
// observed. The same on every rank.
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

// A change of plan that can be made.
struct Choice {
    plan::Decision decision;
    PlanTransition transition;
    bool is_recorded = false;  // and was known before the first step
};

// The first step behind `first` where a policy looks at what was observed; `steps` if none does.
std::size_t next_look(const config::PolicyConfig& policy, std::size_t first, std::size_t steps);

// Collective over `control`. Throws ConfigError if ranks chose different plans after `step` steps: plans also
// depend on files, which may differ between nodes.
void refuse_unlike_plans(comm::Communicator& control, const Choice* choice, std::size_t step);

class Deciding {
public:
    // `job`, `current` and `nodes`, which has the node of each rank, outlive it. `recorded` holds the decisions
    // of --decisions.
    Deciding(const setup::Job& job, const setup::PlanState& current, setup::PlanOrigin origin,
             const std::vector<int>& nodes, std::vector<plan::Decision> recorded);

    // Before links are known messages are taken to cost nothing.
    void know_links(const layout::RankLinks& links);

    // Notes what a step has shown, and in `outcome` how slow ranks are. Gives what is new of them.
    std::vector<policy::SlownessChange> observe(records::StepOutcome& outcome) {
        return observer_.add(outcome);
    }

    // Behind `step` steps.
    plan::Observation observed(std::size_t step) const { return observer_.observed(step); }

    // Behind `step` steps. None: the plan stays.
    std::optional<Choice> choose(std::size_t step);
    // True if a policy looks at what was observed after `step` steps. Other channels may be skipped from then
    // on.
    bool is_look(std::size_t step) const;
    // True if the plan may change after `step` steps: a policy looks, or --decisions has a line for them.
    bool may_change_plan(std::size_t step) const;
    // It was made, and from here on steps are by the next plan. Completes the decision.
    void note(plan::Decision& decision, const records::PlanChange& change);

    // The first step behind `first` where the plan may change; the end of the run if there is none.
    std::size_t next_chance(std::size_t first) const;

    // Notes why a change that a policy wanted is not made. A reason that repeats is said once, until the policy
    // wants nothing or the plan changes.
    void refuse(const std::string& why) { complaint_ = why; }
    std::string take_complaint();  // empty: there is nothing to say

    const setup::PlanOrigin& origin() const { return origin_; }

private:
    // Ranks that compute parts of another one's products, compared with how it was without them.
    struct Help {
        std::size_t begun = 0;       // the step after which the first of them began
        double seconds_of_flop = 0;  // before that; 0: not known
        std::vector<double> left_out;
        std::size_t changed = 0;  // the step after which the help became what it is
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
    policy::Policy policy_;  // what is recorded, if something is
    Observer observer_;
    ChangeEstimate estimate_;
    layout::Link link_;            // between ranks whose state moves
    std::optional<Help> help_;     // that there is
    std::optional<Help> offered_;  // by the last choice, which may not be followed
    bool offers_to_take_back_ = false;
    std::optional<std::size_t> taken_back_;  // the step after which a help was taken back
    std::string complaint_;                  // not said yet
    std::string last_complaint_;             // that was said
};

}  // namespace trireme::adapt
