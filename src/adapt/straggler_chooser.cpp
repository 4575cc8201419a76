#include "adapt/straggler_chooser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "adapt/candidate_outlook.hpp"
#include "adapt/straggler_outlook.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/policy/describe_slowness.hpp"
#include "trireme/policy/planner.hpp"
#include "trireme/policy/resize.hpp"
#include "trireme/policy/slowness_watch.hpp"

namespace trireme::adapt {

void StragglerChooser::make_rules(const layout::Link& team_link) {
    const config::StragglerPolicy policy = job_.config.policy.straggler;
    if (policy == config::StragglerPolicy::off || policy == config::StragglerPolicy::resize) return;
    offload_rules_ = make_offload_rules(job_, current_, team_link);
    if (policy == config::StragglerPolicy::uneven) uneven_rules_ = make_uneven_rules(job_, current_, team_link);
}

// Returns the decision to change the layout. If the best change does not pay off, sets `refusal`.
std::optional<plan::Decision> StragglerChooser::decide_layout(const plan::Observation& observed,
                                                              const PredictChange& predict_change,
                                                              std::string& refusal) {
    const plan::Plan& current = current_.plan;
    std::string why;  // a change is impossible
    const auto predict_candidate = [&](const policy::Candidate& candidate) -> std::optional<double> {
        const auto transition =
            try_plan_transition(job_, current_, make_decision(observed.step, candidate), why);
        if (!transition) return std::nullopt;
        return transition->moves_state ? predict_change(*transition) : 0;
    };
    StragglerOutlook outlook(uneven_rules_, observed, current, predict_candidate);
    const policy::Candidate stay{
        .layout = current.layout, .microbatches = current.microbatches(), .schedule = current.schedule};
    if (!outlook.predict_step(stay, {})) return std::nullopt;  // other plans cannot be compared with it
    std::size_t steps = current_.samples.count_steps() - observed.step;
    if (job_.config.policy.horizon > 0) steps = std::min(steps, job_.config.policy.horizon);
    const policy::Proposer propose = make_proposer();
    const std::array<policy::Proposer, 1> proposers{[&](const plan::Observation& all, policy::Candidate base) {
        base.layout = origin_;
        return propose(all, base);
    }};
    const std::optional<policy::Verdict> verdict =
        policy::decide(observed, stay, proposers, outlook, {.horizon = steps});
    if (!verdict) {
        if (!why.empty()) refusal = why;
        return std::nullopt;
    }
    const double gain = verdict->current_step_seconds - verdict->step_seconds;
    if (!verdict->pays_off) {
        const double saved_seconds = gain * static_cast<double>(steps);
        refusal = fmt::format(
            "the best plan would save {:.2g} s in {}, but moving the state would take {:.2g} s{}",
            saved_seconds, format_count(steps, "step"), verdict->change_seconds,
            saved_seconds > verdict->change_seconds ? ", and a change must save 1 % of the time" : "");
        return std::nullopt;
    }
    plan::Decision decision = make_decision(observed.step, verdict->candidate);
    decision.terms = policy::make_gain_terms(observed, gain);
    return decision;
}

// Returns the decision about the work that ranks share. Rejects new migrations if earlier ones were ended and
// no rank's slowness has changed since then.
std::optional<plan::Decision> StragglerChooser::decide_sharing(const plan::Observation& observed,
                                                               std::string& refusal) {
    auto decision = policy::decide_sharing(offload_rules_, observed, current_.plan);
    const std::optional<std::size_t> end_step = migration_trials_.find_end_step(observed);
    if (!end_step || !decision || decision->migrations.empty()) return decision;
    refusal =
        cat("a migration was undone after step ", *end_step, ", and no rank's slowness has changed since then");
    return std::nullopt;
}

// With --straggler uneven, ranks share work at first if a rank is slow. The layout changes if the slowness of
// ranks has been constant for --bridge steps. If no rank is slow any more, ranks stop sharing work.
std::optional<plan::Decision> StragglerChooser::decide(const plan::Observation& observed,
                                                       const PredictChange& predict_change,
                                                       std::string& refusal) {
    if (observed.ranks.empty()) return std::nullopt;
    switch (job_.config.policy.straggler) {
        case config::StragglerPolicy::off:
            return std::nullopt;
        case config::StragglerPolicy::resize:
            return policy::decide_resizing({.max_skipped_fraction = job_.config.policy.resize.limit}, observed,
                                           current_.plan);
        case config::StragglerPolicy::migrate:
        case config::StragglerPolicy::semi:
            return decide_sharing(observed, refusal);
        case config::StragglerPolicy::uneven: {
            const bool is_slow = policy::is_any_rank_slow(observed);
            if (is_slow && observed.steady_steps < job_.config.policy.bridge)
                return decide_sharing(observed, refusal);
            auto decision = decide_layout(observed, predict_change, refusal);
            return decision || is_slow ? decision : decide_sharing(observed, refusal);
        }
    }
    throw BugError("unknown policy for stragglers");
}

std::string StragglerChooser::explain_kept_plan(const plan::Observation& observed) const {
    if (job_.config.policy.straggler == config::StragglerPolicy::off) return "";
    const plan::Plan& plan = current_.plan;
    const auto slowest = std::ranges::max_element(observed.slowness);
    const bool is_slow = slowest != observed.slowness.end() && *slowest > policy::SlownessRules{}.slow_factor;
    const bool is_steady = observed.steady_steps >= job_.config.policy.look_every;
    const bool skips_channels = std::ranges::any_of(plan.skipped, [](double fraction) { return fraction > 0; });
    const bool is_plan_of_options = plan.layout == origin_ && plan.migrations.empty() && !skips_channels;
    if (!is_slow || !is_steady || !is_plan_of_options) return "";
    return cat("rank ", slowest - observed.slowness.begin(),
               " is slow, but the policy finds no plan that shortens the steps");
}

}  // namespace trireme::adapt
