#include "trireme/adapt/plan_chooser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "adapt/energy_chooser.hpp"
#include "adapt/freeze_chooser.hpp"
#include "adapt/layout_chooser.hpp"
#include "adapt/published_pipe.hpp"
#include "adapt/straggler_chooser.hpp"
#include "trireme/adapt/resumed_plan.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/policy/describe_slowness.hpp"
#include "trireme/policy/planner.hpp"
#include "trireme/policy/resize.hpp"
#include "trireme/setup/elastic_layout.hpp"
#include "trireme/setup/machine.hpp"

namespace trireme::adapt {

std::size_t find_next_policy_step(const config::PolicyConfig& policy, std::size_t first, std::size_t steps) {
    if (policy.straggler == config::StragglerPolicy::off && policy.energy == config::Energy::baseline)
        return steps;
    return std::min(steps, (first / policy.look_every + 1) * policy.look_every);
}

PlanChooser::PlanChooser(const setup::Job& job, const setup::PlanState& current, setup::PlanOrigin origin,
                         std::vector<plan::Decision> recorded)
    : job_(job),
      current_(current),
      origin_(std::move(origin)),
      recorded_decisions_(std::move(recorded)),
      observer_(job.ranks()),
      follows_lengths_(follows_lengths(job, current.plan)),
      straggler_chooser_(std::make_unique<StragglerChooser>(job, current, origin_.layout)),
      energy_chooser_(std::make_unique<EnergyChooser>(job, current, origin_, job.ranks())),
      freeze_chooser_(std::make_unique<FreezeChooser>(job, current)) {
    for (plan::Decision& decision : recorded_decisions_)
        if (decision.policy.empty()) decision.policy = "recorded";
    prepare_depth(current.plan.frozen);
    if (!origin_.slowness.empty()) {
        observer_.resume_from(origin_.slowness, origin_.steady_steps);
        known_slowness_ = origin_.slowness;
    }
    if (predicts_changes()) link_ = find_slow_link(choose_machine(job, job.ranks()), job.ranks());
}

PlanChooser::~PlanChooser() = default;

std::vector<policy::SlownessChange> PlanChooser::observe(records::StepOutcome& outcome) {
    if (layout_chooser_) layout_chooser_->observe(outcome);
    energy_chooser_->observe(outcome, observer_.make_observation(outcome.step));
    freeze_chooser_->observe(outcome);
    return observer_.add(outcome);
}

void PlanChooser::observe(const records::Evaluation& evaluation, std::size_t step) {
    freeze_chooser_->observe(evaluation, step);
}

bool PlanChooser::lacks_evaluation(std::size_t step) const { return freeze_chooser_->lacks_evaluation(step); }

void PlanChooser::set_links(const layout::RankLinks& links) {
    if (!predicts_changes()) link_ = links.all;
    team_link_ = links.team;
    if (may_migrate(job_.config.policy)) straggler_chooser_->make_rules(team_link_);
}

bool PlanChooser::predicts_changes() const {
    return layout_chooser_ && job_.config.policy.change_times == config::ChangeTimes::predicted;
}

// Makes the rules of the policies, whose times and bytes depend on the number of frozen blocks.
void PlanChooser::prepare_depth(int frozen) {
    prepared_depth_ = frozen;
    straggler_chooser_->make_rules(team_link_);
    if (!follows_lengths_ && !setup::plans_depth(job_.config, origin_.layout)) return;
    auto chooser = std::make_unique<LayoutChooser>(job_, current_, origin_.layout, frozen);
    if (layout_chooser_) chooser->continue_from(*layout_chooser_);
    layout_chooser_ = std::move(chooser);
}

// Predicts the time in which the measured link transfers the bytes of the rank that has the most bytes to
// transfer, and the time for copies of state that may be offloaded.
double PlanChooser::predict_from_links(const PlanTransition& transition) const {
    const std::size_t max_rank_bytes =
        transition.moves.compute_bytes(&mover::Move::max_elements_per_rank, job_.config.optimizer, job_.dtype);
    return link_.predict_seconds(static_cast<double>(max_rank_bytes)) +
           predict_offload_seconds(job_, transition.from, transition.to);
}

// Predicts the duration of a transition from earlier changes of plan, or from the links before the first
// change.
double PlanChooser::predict_seconds(const PlanTransition& transition) const {
    const auto seconds = estimate_.predict_seconds(transition.count_moved_bytes(job_));
    return seconds ? *seconds : predict_from_links(transition);
}

// Called if the plan stays.
void PlanChooser::report_idle_policy(const plan::Observation& observed) {
    if (unreported_refusal_.empty()) unreported_refusal_ = straggler_chooser_->explain_kept_plan(observed);
    if (unreported_refusal_.empty()) last_refusal_.clear();
}

std::optional<Choice> PlanChooser::choose(std::size_t step) {
    const plan::Observation observed = observer_.make_observation(step);
    const auto recorded = std::ranges::find(recorded_decisions_, step, &plan::Decision::step);
    if (recorded != recorded_decisions_.end())
        return make_choice(*recorded, plan_transition(job_, current_, *recorded), observed);
    if (!job_.config.policy.decisions.empty()) return std::nullopt;
    std::optional<plan::Decision> new_depth = freeze_chooser_->decide(step);
    const bool replans = may_plan_depth(job_.config.policy) && (new_depth || begins_at(step));
    if (follows_lengths_ && !replans) {
        std::optional<Choice> choice = take_look_ahead(step);
        if (!choice && is_policy_step(step)) report_idle_policy(observed);
        if (!new_depth) return choice;
        return choose_depth(std::move(*new_depth), choice ? &choice->decision : nullptr, observed);
    }
    std::optional<plan::Decision> decision;
    if (!new_depth) decision = energy_chooser_->decide_first(observed, is_policy_step(step));
    if (!decision && !new_depth && is_policy_step(step))
        decision = straggler_chooser_->migration_trials().end_useless_migration(observed, current_.plan);
    if (!decision) decision = decide(observed, new_depth ? &*new_depth : nullptr);
    if (!decision && is_policy_step(step)) report_idle_policy(observed);
    if (new_depth) return choose_depth(std::move(*new_depth), decision ? &*decision : nullptr, observed);
    if (!decision) decision = energy_chooser_->decide_last(step);
    if (!decision) return std::nullopt;
    return try_to_choose(std::move(*decision), observed);
}

// True if the run begins after `step` steps with a layout that --auto-pipe has not chosen.
bool PlanChooser::begins_at(std::size_t step) const {
    return may_follow_depth(job_.config.policy) && step == job_.completed_steps && !origin_.has_chosen_layout;
}

// Returns the decision about the plan, apart from frozen blocks and clocks. `new_depth` is the decision to
// change the number of frozen blocks; it may be null.
std::optional<plan::Decision> PlanChooser::decide(const plan::Observation& observed,
                                                  const plan::Decision* new_depth) {
    const config::PolicyConfig& policy = job_.config.policy;
    const bool is_due = new_depth != nullptr || begins_at(observed.step);
    if (is_due && policy.freeze.auto_pipe == config::AutoPipe::published)
        return decide_published_pipe(job_, current_, new_depth ? *new_depth->frozen : current_.plan.frozen,
                                     observed.step);
    const bool is_uneven = policy.straggler == config::StragglerPolicy::uneven;
    if (layout_chooser_ && (is_due || (is_uneven && is_policy_step(observed.step)))) {
        if (new_depth != nullptr) prepare_depth(*new_depth->frozen);
        return decide_layout(observed.step);
    }
    if (!is_policy_step(observed.step)) return std::nullopt;
    return straggler_chooser_->decide(
        observed, [this](const PlanTransition& transition) { return predict_seconds(transition); },
        unreported_refusal_);
}

// Returns nothing if the decision is impossible, which is noted as a refusal.
std::optional<Choice> PlanChooser::try_to_choose(plan::Decision decision, const plan::Observation& observed) {
    energy_chooser_->complete(observed, decision);
    std::string why;
    auto transition = try_plan_transition(job_, current_, decision, why);
    if (!transition) {
        note_refusal(why);
        return std::nullopt;
    }
    return make_choice(std::move(decision), std::move(*transition), observed);
}

// Changes the number of frozen blocks, together with the change `other` that another policy has decided, unless
// it is null or both together are impossible.
std::optional<Choice> PlanChooser::choose_depth(plan::Decision depth, const plan::Decision* other,
                                                const plan::Observation& observed) {
    if (other != nullptr)
        if (auto choice = try_to_choose(add_depth(depth, *other), observed)) return choice;
    return try_to_choose(std::move(depth), observed);
}

// The next step may not fit into the memory of the current plan, so that ranks plan it only after a change.
std::uint64_t PlanChooser::look_ahead(std::size_t step) {
    if (has_recorded_decision(step) && !job_.memory_limits.empty()) return 1;
    if (!follows_lengths_ || step >= current_.samples.count_steps()) return 0;
    if (!look_ahead_ || look_ahead_->step < step) {
        look_ahead_.emplace(LookAhead{.step = step, .choice = choose_by_lengths(step)});
        if (look_ahead_->choice) look_ahead_->next_plan = number_plan(look_ahead_->choice->transition.to.plan);
    }
    return look_ahead_->step == step ? look_ahead_->next_plan : 0;
}

// The run has not looked ahead before its first step.
std::optional<Choice> PlanChooser::take_look_ahead(std::size_t step) {
    if (look_ahead(step) == 0) return std::nullopt;
    std::optional<Choice> choice = std::move(look_ahead_->choice);
    look_ahead_->choice.reset();
    return choice;
}

std::optional<Choice> PlanChooser::choose_by_lengths(std::size_t step) {
    std::optional<plan::Decision> decision = decide_layout(step);
    if (!decision) return std::nullopt;
    auto transition = plan_transition(job_, current_, *decision);
    return make_choice(std::move(*decision), std::move(transition), observer_.make_observation(step));
}

// Returns the decision about the layout from predictions of the coming steps. Slow ranks count if --straggler
// uneven may change the layout for them.
std::optional<plan::Decision> PlanChooser::decide_layout(std::size_t step) {
    plan::Observation observed = observer_.make_observation(step);
    policy::Proposer propose_for_slow_ranks;
    if (job_.config.policy.straggler == config::StragglerPolicy::uneven) {
        if (is_policy_step(step) && policy::has_slowness_changed(known_slowness_, observed.slowness))
            known_slowness_ = observed.slowness;
        observed.slowness = known_slowness_;
        if (policy::is_any_rank_slow(observed)) propose_for_slow_ranks = straggler_chooser_->make_proposer();
    } else {
        observed.slowness.clear();
    }
    return layout_chooser_->decide(
        std::move(observed), freeze_chooser_->find_next_change(step), propose_for_slow_ranks,
        {.estimate =
             [this](double moved_bytes, double offload_seconds) {
                 return correction_.correct(link_.predict_seconds(moved_bytes) + offload_seconds);
             },
         .predict =
             [this](const PlanTransition& transition) {
                 return correction_.correct(predict_from_links(transition));
             }});
}

std::optional<Choice> PlanChooser::reject(const Choice& choice, const std::string& why) {
    note_refusal(why);
    if (layout_chooser_) layout_chooser_->exclude(choice.transition.to.plan.layout);
    const std::size_t step = choice.decision.step;
    std::optional<plan::Decision> new_depth = freeze_chooser_->decide(step);
    if (!new_depth || choice.changes_only_depth) return std::nullopt;
    return try_to_choose(std::move(*new_depth), observer_.make_observation(step));
}

Choice PlanChooser::make_choice(plan::Decision decision, PlanTransition transition,
                                const plan::Observation& observed) {
    decision.schedule = transition.to.plan.schedule;
    decision.microbatches = transition.to.plan.microbatches();
    if (may_grow_batch(job_.config.policy)) decision.batch = transition.to.samples.batch;
    if (current_.plan.frozen > 0 || transition.to.plan.frozen > 0) decision.frozen = transition.to.plan.frozen;
    if (energy_chooser_->is_on() || !decision.clocks.empty())
        decision.clocks = list_pass_clocks(transition.to.plan);
    decision.extra_forwards = transition.to.plan.training.shape.extra_forwards;
    chosen_slowness_ = observed.slowness;
    if (energy_chooser_->is_on())
        straggler_chooser_->migration_trials().prepare_none();  // the new plan may have other clocks
    else
        straggler_chooser_->migration_trials().prepare(observed.step, observed, current_.plan,
                                                       transition.to.plan, transition.moves_state);
    const plan::Plan& next = transition.to.plan;
    const bool changes_only_depth = current_.plan.frozen != next.frozen && current_.plan.layout == next.layout;
    const double link_seconds = layout_chooser_ ? predict_from_links(transition) : 0;
    return {.decision = std::move(decision),
            .transition = std::move(transition),
            .is_recorded = has_recorded_decision(observed.step),
            .changes_only_depth = changes_only_depth,
            .link_seconds = link_seconds};
}

bool PlanChooser::is_policy_step(std::size_t step) const {
    const bool looks_at_ranks =
        job_.config.policy.straggler != config::StragglerPolicy::off || energy_chooser_->is_on();
    return looks_at_ranks && step > 0 && step % job_.config.policy.look_every == 0;
}

bool PlanChooser::has_recorded_decision(std::size_t step) const {
    return std::ranges::find(recorded_decisions_, step, &plan::Decision::step) != recorded_decisions_.end();
}

bool PlanChooser::may_change_plan(std::size_t step) const {
    const bool changes_with_lengths =
        follows_lengths_ && (step == job_.completed_steps ||
                             (look_ahead_ && look_ahead_->step == step && look_ahead_->next_plan != 0));
    return is_policy_step(step) || has_recorded_decision(step) || changes_with_lengths || begins_at(step) ||
           energy_chooser_->may_decide(step) || freeze_chooser_->may_decide(step);
}

void PlanChooser::note_change(Choice& choice, const records::PlanChange& change) {
    plan::Decision& decision = choice.decision;
    decision.from = change.from;
    decision.to = change.to;
    decision.terms["moved_bytes"] = static_cast<double>(change.moved_bytes);
    decision.terms["kept_bytes"] = static_cast<double>(change.kept_bytes);
    straggler_chooser_->migration_trials().begin(decision.step);
    if (!plan::changes_only_clocks(decision)) observer_.begin_plan();
    energy_chooser_->note_change(decision, chosen_slowness_);
    freeze_chooser_->accept_decision();
    last_refusal_.clear();
    // Blocks that freeze or thaw in the same layout move no state between ranks, so that the duration of such a
    // change says nothing about others.
    if (change.moved_bytes + change.kept_bytes > 0) {
        decision.predicted_seconds = layout_chooser_ ? correction_.correct(choice.link_seconds)
                                                     : estimate_.predict_seconds(change.moved_bytes);
        decision.measured_seconds = change.seconds;
        if (!choice.changes_only_depth && !predicts_changes())
            correction_.add(choice.link_seconds, change.seconds);
        if (!choice.changes_only_depth) estimate_.add(change.moved_bytes, change.seconds);
    }
    note_origin(decision, current_.plan, origin_);
    if (current_.plan.frozen != prepared_depth_) prepare_depth(current_.plan.frozen);
}

std::size_t PlanChooser::find_next_possible_change(std::size_t first) const {
    if (energy_chooser_->decides_each_step()) return std::min(first + 1, current_.samples.count_steps());
    std::size_t next = freeze_chooser_->find_next_period_end(first);
    for (const plan::Decision& decision : recorded_decisions_) {
        if (decision.step > first) next = std::min(next, decision.step);
    }
    return find_next_policy_step(job_.config.policy, first, next);
}

std::string PlanChooser::take_energy_report() { return energy_chooser_->take_report(); }

std::string PlanChooser::describe_lack_of_clocks() const { return energy_chooser_->describe_lack(); }

std::string PlanChooser::describe_freezing() const { return freeze_chooser_->describe_state(); }

bool PlanChooser::decides_clocks_each_step() const { return energy_chooser_->decides_each_step(); }

std::string PlanChooser::take_refusal() {
    const std::string refusal = std::exchange(unreported_refusal_, "");
    if (refusal.empty() || refusal == last_refusal_) return {};
    last_refusal_ = refusal;
    return refusal;
}

}  // namespace trireme::adapt
