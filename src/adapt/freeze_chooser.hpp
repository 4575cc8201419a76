// Chooses the number of frozen blocks (the depth) of coming steps, for --freeze.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "trireme/plan/decision.hpp"
#include "trireme/policy/freeze.hpp"
#include "trireme/records/evaluation.hpp"
#include "trireme/records/step_outcome.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::adapt {

class FreezeChooser {
public:
    // The arguments must outlive the object. If the run resumes with the rule of its checkpoint, the object has
    // the state of the checkpoint; otherwise it begins with the current depth and no completed period.
    FreezeChooser(const setup::Job& job, const setup::PlanState& current);

    // True if the depth may change after `step` steps: a period ends, or blocks must thaw.
    bool may_decide(std::size_t step) const;
    // Returns the smallest number of steps above `first` after which a period ends, also if --decisions
    // replaces the rule, so that schedules with steps that overlap drain at the same steps. Returns the number
    // of all steps without --freeze.
    std::size_t find_next_period_end(std::size_t first) const;

    // Returns the number of steps, above `first`, after which the number of frozen blocks may change next. With
    // a schedule, periods that do not change it are skipped. Returns the number of all steps without --freeze.
    std::size_t find_next_change(std::size_t first) const;

    void observe(const records::StepOutcome& outcome);
    // Called with the evaluation after `step` steps.
    void observe(const records::Evaluation& evaluation, std::size_t step);
    // True if the rule needs an evaluation after `step` steps, which the run has not made.
    bool lacks_evaluation(std::size_t step) const;

    // Returns the decision to change the depth in the current layout, if it is due after `step` steps.
    std::optional<plan::Decision> decide(std::size_t step);
    // Called when the plan has changed, and before the next step: the last decision has taken effect.
    void accept_decision();

    // Returns the state for a checkpoint, as a JSON object; empty without --freeze. Between decide() and
    // accept_decision(), it is the state before the decision, so that a run that resumes here decides again.
    std::string describe_state() const;

private:
    bool is_on() const { return may_freeze(job_.config.policy); }
    std::size_t count_period_ends(std::size_t step) const;
    plan::Decision make_decision(std::size_t step, int depth) const;
    void restore_state();

    const setup::Job& job_;
    const setup::PlanState& current_;
    policy::FreezeRules rules_;
    std::size_t period_samples_ = 0;  // visits of samples in a period; 0 without --freeze
    policy::FreezeState state_;
    std::optional<policy::FreezeState> next_state_;  // after the last decision; empty if it has taken effect
    int decided_depth_ = 0;                          // of this decision
    std::size_t evaluated_step_ = 0;                 // number of steps before the last evaluation
};

// Returns a decision with the changes of both: the number of frozen blocks of `depth`, and the rest of `other`.
plan::Decision add_depth(const plan::Decision& depth, plan::Decision other);

}  // namespace trireme::adapt
