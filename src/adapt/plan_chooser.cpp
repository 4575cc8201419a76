#include "trireme/adapt/plan_chooser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "adapt/energy_chooser.hpp"
#include "adapt/freeze_chooser.hpp"
#include "adapt/length_chooser.hpp"
#include "adapt/migration_trials.hpp"
#include "adapt/straggler_outlook.hpp"
#include "trireme/adapt/resumed_plan.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/policy/describe_slowness.hpp"
#include "trireme/policy/planner.hpp"
#include "trireme/policy/resize.hpp"
#include "trireme/setup/elastic_layout.hpp"
#include "trireme/setup/machine.hpp"

namespace trireme::adapt {

void check_followed_lengths(const setup::Setup& setup, const std::vector<int>& nodes) {
    if (!follows_lengths(setup.job, setup.current.plan)) return;
    check_change_times(setup.job, setup.current.plan, static_cast<int>(nodes.size()));
    LengthChooser(setup.job, setup.current, setup.current.plan.layout, nodes).check_longest_samples();
}

std::size_t find_next_policy_step(const config::PolicyConfig& policy, std::size_t first, std::size_t steps) {
    if (policy.straggler == config::StragglerPolicy::off && policy.energy == config::Energy::baseline)
        return steps;
    return std::min(steps, (first / policy.look_every + 1) * policy.look_every);
}

PlanChooser::PlanChooser(const setup::Job& job, const setup::PlanState& current, setup::PlanOrigin origin,
                         const std::vector<int>& nodes, std::vector<plan::Decision> recorded)
    : job_(job),
      current_(current),
      origin_(std::move(origin)),
      nodes_(nodes),
      recorded_decisions_(std::move(recorded)),
      observer_(static_cast<int>(nodes.size())),
      migration_trials_(std::make_unique<MigrationTrials>()),
      energy_chooser_(std::make_unique<EnergyChooser>(job, current, origin_, static_cast<int>(nodes.size()))),
      freeze_chooser_(std::make_unique<FreezeChooser>(job, current)) {
    for (plan::Decision& decision : recorded_decisions_)
        if (decision.policy.empty()) decision.policy = "recorded";
    prepare_depth();
    if (!origin_.slowness.empty()) {
        observer_.resume_from(origin_.slowness, origin_.steady_steps);
        known_slowness_ = origin_.slowness;
    }
    const auto ranks = static_cast<int>(nodes.size());
    if (predicts_changes()) link_ = find_slow_link(choose_machine(job, ranks), ranks);
}

PlanChooser::~PlanChooser() = default;

std::vector<policy::SlownessChange> PlanChooser::observe(records::StepOutcome& outcome) {
    if (length_chooser_) length_chooser_->observe(outcome);
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
    if (may_migrate(job_.config.policy)) make_rules();
}

bool PlanChooser::predicts_changes() const {
    return length_chooser_ && job_.config.policy.change_times == config::ChangeTimes::predicted;
}

// Makes the rules for slow ranks and for lengths, whose times and bytes depend on the number of frozen blocks.
void PlanChooser::prepare_depth() {
    prepared_depth_ = current_.plan.frozen;
    make_rules();
    if (!follows_lengths(job_, current_.plan)) return;
    auto chooser = std::make_unique<LengthChooser>(job_, current_, origin_.layout, nodes_);
    if (length_chooser_) chooser->continue_from(*length_chooser_);
    length_chooser_ = std::move(chooser);
}

void PlanChooser::make_rules() {
    const config::StragglerPolicy policy = job_.config.policy.straggler;
    if (policy == config::StragglerPolicy::off || policy == config::StragglerPolicy::resize) return;
    offload_rules_ = make_offload_rules(job_, current_, team_link_);
    if (policy == config::StragglerPolicy::uneven)
        uneven_rules_ = make_uneven_rules(job_, current_, origin_.layout, nodes_, team_link_);
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

// Returns the decision to change the layout. If the best change does not pay off, notes the refusal.
std::optional<plan::Decision> PlanChooser::decide_layout(const plan::Observation& observed) {
    const plan::Plan& current = current_.plan;
    std::string why;  // a change is impossible
    const auto predict_change = [&](const policy::Candidate& candidate) -> std::optional<double> {
        const auto transition =
            try_plan_transition(job_, current_, nodes_, make_decision(observed.step, candidate), why);
        if (!transition) return std::nullopt;
        return transition->moves_state ? predict_seconds(*transition) : 0;
    };
    StragglerOutlook outlook(uneven_rules_, observed, current, predict_change);
    const policy::Candidate stay{
        .layout = current.layout, .microbatches = current.microbatches(), .schedule = current.schedule};
    if (!outlook.predict_step(stay, {})) return std::nullopt;  // other plans cannot be compared with it
    std::size_t steps = job_.steps - observed.step;
    if (job_.config.policy.horizon > 0) steps = std::min(steps, job_.config.policy.horizon);
    const std::array proposers{policy::make_uneven_proposer(uneven_rules_, current)};
    const std::optional<policy::Verdict> verdict =
        policy::decide(observed, stay, proposers, outlook, {.horizon = steps});
    if (!verdict) {
        if (!why.empty()) note_refusal(why);
        return std::nullopt;
    }
    const double gain = verdict->current_step_seconds - verdict->step_seconds;
    if (!verdict->pays_off) {
        const double saved_seconds = gain * static_cast<double>(steps);
        note_refusal(fmt::format(
            "the best plan would save {:.2g} s in {}, but moving the state would take {:.2g} s{}",
            saved_seconds, format_count(steps, "step"), verdict->change_seconds,
            saved_seconds > verdict->change_seconds ? ", and a change must save 1 % of the time" : ""));
        return std::nullopt;
    }
    plan::Decision decision = make_decision(observed.step, verdict->candidate);
    decision.terms = policy::make_gain_terms(observed, gain);
    return decision;
}

// Returns the decision about the work that ranks share. Rejects new migrations if earlier ones were ended and
// no rank's slowness has changed since then.
std::optional<plan::Decision> PlanChooser::decide_new_sharing(const plan::Observation& observed) {
    auto decision = policy::decide_sharing(offload_rules_, observed, current_.plan);
    const std::optional<std::size_t> end_step = migration_trials_->find_end_step(observed);
    if (!end_step || !decision || decision->migrations.empty()) return decision;
    note_refusal(cat("a migration was undone after step ", *end_step,
                     ", and no rank's slowness has changed since then"));
    return std::nullopt;
}

// With --straggler uneven, ranks share work at first if a rank is slow. The layout changes if the slowness of
// ranks has been constant for --bridge steps. If no rank is slow any more, ranks stop sharing work.
std::optional<plan::Decision> PlanChooser::decide(const plan::Observation& observed) {
    if (!is_policy_step(observed.step) || observed.ranks.empty()) return std::nullopt;
    switch (job_.config.policy.straggler) {
        case config::StragglerPolicy::off:
            return std::nullopt;
        case config::StragglerPolicy::resize:
            return policy::decide_resizing({.max_skipped_fraction = job_.config.policy.resize.limit}, observed,
                                           current_.plan);
        case config::StragglerPolicy::migrate:
        case config::StragglerPolicy::semi:
            return decide_new_sharing(observed);
        case config::StragglerPolicy::uneven: {
            const bool is_slow = policy::is_any_rank_slow(observed);
            if (is_slow && observed.steady_steps < job_.config.policy.bridge)
                return decide_new_sharing(observed);
            auto decision = decide_layout(observed);
            return decision || is_slow ? decision : decide_new_sharing(observed);
        }
    }
    throw BugError("unknown policy for stragglers");
}

// Called if the plan stays. Notes a refusal for the user if a rank is slow but the run still uses the plan of
// its options, unless another refusal was noted.
void PlanChooser::report_idle_policy(const plan::Observation& observed) {
    if (job_.config.policy.straggler == config::StragglerPolicy::off) return;
    const plan::Plan& plan = current_.plan;
    const auto slowest = std::ranges::max_element(observed.slowness);
    const bool is_slow = slowest != observed.slowness.end() && *slowest > policy::SlownessRules{}.slow_factor;
    const bool is_steady = observed.steady_steps >= job_.config.policy.look_every;
    const bool skips_channels = std::ranges::any_of(plan.skipped, [](double fraction) { return fraction > 0; });
    const bool is_plan_of_options = plan.layout == origin_.layout && plan.migrations.empty() && !skips_channels;
    if (unreported_refusal_.empty() && is_slow && is_steady && is_plan_of_options)
        note_refusal(cat("rank ", slowest - observed.slowness.begin(),
                         " is slow, but the policy finds no plan that shortens the steps"));
    if (unreported_refusal_.empty()) last_refusal_.clear();
}

std::optional<Choice> PlanChooser::choose(std::size_t step) {
    const plan::Observation observed = observer_.make_observation(step);
    const auto recorded = std::ranges::find(recorded_decisions_, step, &plan::Decision::step);
    if (recorded != recorded_decisions_.end())
        return make_choice(*recorded, plan_transition(job_, current_, nodes_, *recorded), observed);
    if (!job_.config.policy.decisions.empty()) return std::nullopt;
    std::optional<plan::Decision> new_depth = freeze_chooser_->decide(step);
    if (length_chooser_) {
        std::optional<Choice> choice = take_look_ahead(step);
        if (!choice && is_policy_step(step)) report_idle_policy(observed);
        if (!new_depth) return choice;
        return choose_depth(std::move(*new_depth), choice ? &choice->decision : nullptr, observed);
    }
    std::optional<plan::Decision> decision;
    if (!new_depth) decision = energy_chooser_->decide_first(observed, is_policy_step(step));
    if (!decision && is_policy_step(step))
        decision = migration_trials_->end_useless_migration(observed, current_.plan);
    if (!decision) decision = decide(observed);
    if (!decision && is_policy_step(step)) report_idle_policy(observed);
    if (new_depth) return choose_depth(std::move(*new_depth), decision ? &*decision : nullptr, observed);
    if (!decision) decision = energy_chooser_->decide_last(step);
    if (!decision) return std::nullopt;
    return try_to_choose(std::move(*decision), observed);
}

// Returns nothing if the decision is impossible, which is noted as a refusal.
std::optional<Choice> PlanChooser::try_to_choose(plan::Decision decision, const plan::Observation& observed) {
    energy_chooser_->complete(observed, decision);
    std::string why;
    auto transition = try_plan_transition(job_, current_, nodes_, decision, why);
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
    if (!length_chooser_ || step >= job_.steps) return 0;
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
    plan::Observation observed{.step = step};
    policy::Proposer propose_for_slow_ranks;
    if (job_.config.policy.straggler == config::StragglerPolicy::uneven) {
        observed = observer_.make_observation(step);
        if (is_policy_step(step) && policy::has_slowness_changed(known_slowness_, observed.slowness))
            known_slowness_ = observed.slowness;
        observed.slowness = known_slowness_;
        if (policy::is_any_rank_slow(observed))
            propose_for_slow_ranks = policy::make_uneven_proposer(uneven_rules_, current_.plan);
    }
    auto decision = length_chooser_->decide(
        observed, propose_for_slow_ranks,
        {.estimate =
             [this](const MovedBytes& moved, double offload_seconds) {
                 return correction_.correct(link_.predict_seconds(moved.max_rank) + offload_seconds);
             },
         .predict =
             [this](const PlanTransition& transition) {
                 return correction_.correct(predict_from_links(transition));
             }});
    if (!decision) return std::nullopt;
    auto transition = plan_transition(job_, current_, nodes_, *decision);
    return make_choice(std::move(*decision), std::move(transition), observed);
}

std::optional<Choice> PlanChooser::reject(const Choice& choice, const std::string& why) {
    note_refusal(why);
    if (length_chooser_) length_chooser_->exclude(choice.transition.to.plan.layout);
    const std::size_t step = choice.decision.step;
    std::optional<plan::Decision> new_depth = freeze_chooser_->decide(step);
    if (!new_depth || choice.changes_only_depth) return std::nullopt;
    return try_to_choose(std::move(*new_depth), observer_.make_observation(step));
}

Choice PlanChooser::make_choice(plan::Decision decision, PlanTransition transition,
                                const plan::Observation& observed) {
    decision.schedule = transition.to.plan.schedule;
    decision.microbatches = transition.to.plan.microbatches();
    if (current_.plan.frozen > 0 || transition.to.plan.frozen > 0) decision.frozen = transition.to.plan.frozen;
    if (energy_chooser_->is_on() || !decision.clocks.empty())
        decision.clocks = list_pass_clocks(transition.to.plan);
    decision.extra_forwards = transition.to.plan.training.shape.extra_forwards;
    chosen_slowness_ = observed.slowness;
    if (energy_chooser_->is_on())
        migration_trials_->prepare_none();  // the new plan may have other clocks
    else
        migration_trials_->prepare(observed.step, observed, current_.plan, transition.to.plan,
                                   transition.moves_state);
    const plan::Plan& next = transition.to.plan;
    const bool changes_only_depth = current_.plan.frozen != next.frozen && current_.plan.layout == next.layout;
    const double link_seconds = length_chooser_ ? predict_from_links(transition) : 0;
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
        length_chooser_ && (step == job_.completed_steps ||
                            (look_ahead_ && look_ahead_->step == step && look_ahead_->next_plan != 0));
    return is_policy_step(step) || has_recorded_decision(step) || changes_with_lengths ||
           energy_chooser_->may_decide(step) || freeze_chooser_->may_decide(step);
}

void PlanChooser::note_change(Choice& choice, const records::PlanChange& change) {
    plan::Decision& decision = choice.decision;
    decision.from = change.from;
    decision.to = change.to;
    decision.terms["moved_bytes"] = static_cast<double>(change.moved_bytes);
    decision.terms["kept_bytes"] = static_cast<double>(change.kept_bytes);
    migration_trials_->begin(decision.step);
    if (!plan::changes_only_clocks(decision)) observer_.begin_plan();
    energy_chooser_->note_change(decision, chosen_slowness_);
    freeze_chooser_->accept_decision();
    last_refusal_.clear();
    // Blocks that freeze or thaw in the same layout move no state between ranks, so that the duration of such a
    // change says nothing about others.
    if (change.moved_bytes + change.kept_bytes > 0) {
        decision.predicted_seconds = length_chooser_ ? correction_.correct(choice.link_seconds)
                                                     : estimate_.predict_seconds(change.moved_bytes);
        decision.measured_seconds = change.seconds;
        if (!choice.changes_only_depth && !predicts_changes())
            correction_.add(choice.link_seconds, change.seconds);
        if (!choice.changes_only_depth) estimate_.add(change.moved_bytes, change.seconds);
    }
    note_origin(decision, current_.plan, origin_);
    if (current_.plan.frozen != prepared_depth_) prepare_depth();
}

std::size_t PlanChooser::find_next_possible_change(std::size_t first) const {
    if (energy_chooser_->decides_each_step()) return std::min(first + 1, job_.steps);
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
