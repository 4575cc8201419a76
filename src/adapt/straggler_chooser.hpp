// Chooses plans for slow ranks from the observed times of the ranks, for --straggler.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "adapt/migration_trials.hpp"
#include "trireme/adapt/plan_transition.hpp"
#include "trireme/adapt/straggler_rules.hpp"
#include "trireme/plan/decision.hpp"
#include "trireme/plan/observation.hpp"

namespace trireme::adapt {

class StragglerChooser {
public:
    // The arguments must outlive the object. `origin` is the layout of the options, to which a run returns when
    // no rank is slow.
    StragglerChooser(const setup::Job& job, const setup::PlanState& current, const layout::Layout& origin)
        : job_(job), current_(current), origin_(origin) {}

    // Makes the rules, which depend on the number of frozen blocks and on the link between the ranks of a team.
    void make_rules(const layout::Link& team_link);
    // Returns the proposer for --straggler uneven. It refers to this object.
    policy::Proposer make_proposer() const { return make_uneven_proposer(uneven_rules_, current_.plan); }

    // Predicts the seconds of a change of plan.
    using PredictChange = std::function<double(const PlanTransition&)>;

    // Returns the decision about the plan; empty if the plan stays. If a better plan is not used, or if a rank
    // is slow but the plan of the options is still the best one, sets `refusal` to the reason.
    std::optional<plan::Decision> decide(const plan::Observation& observed, const PredictChange& predict_change,
                                         std::string& refusal);
    // Returns why the run keeps the plan of its options although a rank has been slow for a while; empty if no
    // rank has, or if the plan has changed.
    std::string explain_kept_plan(const plan::Observation& observed) const;

    MigrationTrials& migration_trials() { return migration_trials_; }

private:
    std::optional<plan::Decision> decide_layout(const plan::Observation& observed,
                                                const PredictChange& predict_change, std::string& refusal);
    std::optional<plan::Decision> decide_sharing(const plan::Observation& observed, std::string& refusal);

    const setup::Job& job_;
    const setup::PlanState& current_;
    const layout::Layout& origin_;
    policy::OffloadRules offload_rules_;
    policy::UnevenRules uneven_rules_;
    MigrationTrials migration_trials_;
};

}  // namespace trireme::adapt
