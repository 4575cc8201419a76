// Chooses the changes of plan of a run. With --decisions it replays recorded decisions. Otherwise it decides
// from the observed steps (--straggler, --reconfigure, --freeze), from the lengths of coming steps (--elastic
// length) and from the number of frozen blocks (--auto-pipe). All ranks make equal choices.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trireme/adapt/change_estimate.hpp"
#include "trireme/adapt/choice.hpp"
#include "trireme/adapt/observer.hpp"
#include "trireme/layout/links.hpp"
#include "trireme/rank/state_moves.hpp"
#include "trireme/records/evaluation.hpp"
#include "trireme/records/figures.hpp"

namespace trireme::adapt {

class EnergyChooser;
class FreezeChooser;
class LayoutChooser;
class StragglerChooser;

// Returns the number of steps after which the policy decides next: the smallest such number above `first`, but
// at most `steps`. Returns `steps` if the policy is off.
std::size_t find_next_policy_step(const config::PolicyConfig& policy, std::size_t first, std::size_t steps);

class PlanChooser {
public:
    // `job` and `current` must outlive the object. `recorded` has the decisions of --decisions that remain when
    // the run starts or resumes.
    PlanChooser(const setup::Job& job, const setup::PlanState& current, setup::PlanOrigin origin,
                std::vector<plan::Decision> recorded);
    ~PlanChooser();

    // Sets the measured links. Until then, messages take no time, unless --change-times is `predicted`.
    void set_links(const layout::RankLinks& links);

    // Calls Observer::add().
    std::vector<policy::SlownessChange> observe(records::StepOutcome& outcome);
    void observe(const records::Evaluation& evaluation, std::size_t step);  // called after `step` steps
    bool lacks_evaluation(std::size_t step) const;  // true if --freeze needs an evaluation after `step` steps

    // Returns the observation after `step` steps.
    plan::Observation make_observation(std::size_t step) const { return observer_.make_observation(step); }

    // Returns the change of plan after `step` steps; empty if the plan stays. Throws ConfigError if a recorded
    // decision is impossible.
    std::optional<Choice> choose(std::size_t step);
    // True if the policy decides after `step` steps. At such a step, ranks may also change the channels that
    // they prune.
    bool is_policy_step(std::size_t step) const;
    // True if the plan may change after `step` steps, by a policy, a recorded decision or look_ahead().
    bool may_change_plan(std::size_t step) const;
    // Decides, from lengths, about the plan after `step` steps. Called before the last of these steps, so that
    // ranks compare their decisions with the records of this step. Returns the number of the next plan, which
    // is not 0, or 0 if the plan stays. The number is 1 if the decision is recorded.
    std::uint64_t look_ahead(std::size_t step);
    bool looks_ahead() const { return follows_lengths_; }  // the layout follows lengths
    // Called after a change of plan. Adds the plan hashes, bytes and seconds of `change` to the decision, and
    // begins a new observation.
    void note_change(Choice& choice, const records::PlanChange& change);

    // Returns the smallest number of steps above `first` after which the plan may change, at most all steps.
    std::size_t find_next_possible_change(std::size_t first) const;

    // Stores the reason why a better plan is not used. take_refusal() does not repeat its last reason until the
    // plan has changed, or until the policy has kept the plan without a refusal.
    void note_refusal(const std::string& why) { unreported_refusal_ = why; }
    // Called if memory does not suffice for a choice. Later decisions from lengths do not choose its layout.
    // Returns the choice to change only the number of frozen blocks, if the rejected choice changes it, too.
    std::optional<Choice> reject(const Choice& choice, const std::string& why);
    std::string take_refusal();  // returns the reason to report and clears it; empty if there is none
    // Returns a description of the end of --reconfigure, if choose() has just ended it, and clears it.
    std::string take_energy_report();
    bool decides_clocks_each_step() const;        // from the measured times of passes
    std::string describe_lack_of_clocks() const;  // if the run ends before --energy has chosen clocks
    std::string describe_freezing() const;        // for a checkpoint; see FreezeChooser::describe_state()

    const setup::PlanOrigin& origin() const { return origin_; }

private:
    // The last decision from lengths.
    struct LookAhead {
        std::size_t step = 0;  // the plan changes after these steps
        std::uint64_t next_plan = 0;
        std::optional<Choice> choice = {};
    };

    bool predicts_changes() const;  // --change-times predicted
    bool has_recorded_decision(std::size_t step) const;
    std::optional<Choice> take_look_ahead(std::size_t step);
    std::optional<Choice> choose_by_lengths(std::size_t step);
    std::optional<Choice> choose_depth(plan::Decision depth, const plan::Decision* other,
                                       const plan::Observation& observed);
    std::optional<Choice> try_to_choose(plan::Decision decision, const plan::Observation& observed);
    void prepare_depth(int frozen);
    bool begins_at(std::size_t step) const;
    void report_idle_policy(const plan::Observation& observed);
    std::optional<plan::Decision> decide(const plan::Observation& observed, const plan::Decision* new_depth);
    std::optional<plan::Decision> decide_layout(std::size_t step);
    double predict_seconds(const PlanTransition& transition) const;
    double predict_from_links(const PlanTransition& transition) const;
    Choice make_choice(plan::Decision decision, PlanTransition transition, const plan::Observation& observed);

    const setup::Job& job_;
    const setup::PlanState& current_;
    setup::PlanOrigin origin_;
    std::vector<plan::Decision> recorded_decisions_;
    int prepared_depth_ = 0;  // the number of frozen blocks for which prepare_depth() was called
    Observer observer_;
    ChangeEstimate estimate_;
    std::vector<double> known_slowness_;  // per rank, at the last step at which the policy decided
    bool follows_lengths_;                // the layout follows the lengths of samples
    // Null if the layout follows neither lengths nor, with --auto-pipe on, the number of frozen blocks.
    std::unique_ptr<LayoutChooser> layout_chooser_;
    std::optional<LookAhead> look_ahead_;
    ChangeCorrection correction_;  // of predict_from_links(), for changes that layout_chooser_ decides
    layout::Link link_;            // link over which state moves
    layout::Link team_link_;       // link over which the ranks of a team exchange messages
    std::unique_ptr<StragglerChooser> straggler_chooser_;
    std::unique_ptr<EnergyChooser> energy_chooser_;
    std::unique_ptr<FreezeChooser> freeze_chooser_;
    std::vector<double> chosen_slowness_;  // per rank, at the last choice
    std::string unreported_refusal_;       // reason that take_refusal() has not returned yet
    std::string last_refusal_;             // reason that take_refusal() returned last
};

}  // namespace trireme::adapt
