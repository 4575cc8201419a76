// Chooses the changes of plan of a run. With --decisions it replays recorded decisions; otherwise the policy of
// --straggler decides from the observed steps. All ranks make equal choices.
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

// A change of plan that was checked against the model, the ranks and the memory limit.
struct Choice {
    plan::Decision decision;
    PlanTransition transition;
    bool is_recorded = false;  // the decision comes from --decisions and was known before the first step
};

// Returns the smallest n > `first` for which the policy decides after n steps; `steps` if this n exceeds
// `steps` or if the policy is off.
std::size_t find_next_policy_step(const config::PolicyConfig& policy, std::size_t first, std::size_t steps);

// Collective over `control`. Throws ConfigError if ranks chose different plans after `step` steps, which can
// happen because plans also depend on files, and files may differ between nodes. A null `choice` keeps the
// plan.
void check_equal_plans(comm::Communicator& control, const Choice* choice, std::size_t step);

class PlanChooser {
public:
    // `job`, `current` and `nodes` (the node of each rank) must outlive the object. `recorded` holds the
    // decisions of --decisions.
    PlanChooser(const setup::Job& job, const setup::PlanState& current, setup::PlanOrigin origin,
                const std::vector<int>& nodes, std::vector<plan::Decision> recorded);

    // Sets the measured links. Before this call, messages are assumed to cost nothing.
    void set_links(const layout::RankLinks& links);

    // Adds a step to the observation. Writes the slowness of all ranks to `outcome` if any rank is slow.
    // Returns the changes of slowness.
    std::vector<policy::SlownessChange> observe(records::StepOutcome& outcome) {
        return observer_.add(outcome);
    }

    // Returns the observation after `step` steps.
    plan::Observation make_observation(std::size_t step) const { return observer_.make_observation(step); }

    // Returns the change of plan after `step` steps; empty if the plan stays. Throws ConfigError if a recorded
    // decision is impossible.
    std::optional<Choice> choose(std::size_t step);
    // True if the policy decides after `step` steps. Ranks may then choose other channels to prune.
    bool is_policy_step(std::size_t step) const;
    // True if the plan may change after `step` steps: the policy decides, or --decisions has a line with this
    // step.
    bool may_change_plan(std::size_t step) const;
    // Called after a change of plan. Adds the plan hashes, bytes and seconds of the change to the decision.
    void note_change(plan::Decision& decision, const records::PlanChange& change);

    // Returns the smallest n > `first` for which the plan may change after n steps; the number of steps of the
    // run if there is none.
    std::size_t find_next_possible_change(std::size_t first) const;

    // Notes why a change that the policy decided on is not made. take_refusal() returns the same reason again
    // only after the policy has decided on no change, or after the plan has changed.
    void note_refusal(const std::string& why) { unreported_refusal_ = why; }
    std::string take_refusal();  // returns the reason to report and clears it; empty if there is none

    const setup::PlanOrigin& origin() const { return origin_; }

private:
    // Compares steps with migrations (matmuls offloaded to helper ranks) to the steps before the first
    // migration.
    struct MigrationTrial {
        std::size_t begin_step = 0;  // step after which the first migration began
        // Seconds of a step per flop of its matmuls, before the first migration; 0 if unknown.
        double seconds_per_flop = 0;
        std::vector<double> skipped;       // per rank: skipped fraction before begin_step
        std::size_t last_change_step = 0;  // step after which the migrations last changed
        bool is_judged = false;            // the comparison was made after the last change
    };

    bool has_recorded_decision(std::size_t step) const;
    void report_idle_policy(const plan::Observation& observed);
    std::optional<plan::Decision> ask_policy(const plan::Observation& observed);
    std::optional<plan::Decision> end_useless_migration(const plan::Observation& observed);
    double predict_seconds(const PlanTransition& transition) const;
    bool pays_off(const plan::Decision& decision, const PlanTransition& transition);
    void prepare_trial(std::size_t step, const plan::Observation& observed, const PlanTransition& transition);

    const setup::Job& job_;
    const setup::PlanState& current_;
    setup::PlanOrigin origin_;
    const std::vector<int>& nodes_;
    std::vector<plan::Decision> recorded_decisions_;
    policy::Policy policy_;  // replays recorded decisions, if there are any
    Observer observer_;
    ChangeEstimate estimate_;
    layout::Link link_;                    // link over which state moves
    std::optional<MigrationTrial> trial_;  // of the migrations of the current plan
    // The trial that replaces `trial_` if the last choice is carried out.
    std::optional<MigrationTrial> chosen_trial_;
    bool choice_ends_migration_ = false;             // the last choice ends the migrations
    std::optional<std::size_t> migration_end_step_;  // step after which migrations were ended
    std::string unreported_refusal_;                 // reason that take_refusal() has not returned yet
    std::string last_refusal_;                       // reason that take_refusal() returned last
};

}  // namespace trireme::adapt
