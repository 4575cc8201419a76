#include "adapt/length_chooser.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "adapt/length_rules.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/policy/planner.hpp"
#include "trireme/setup/step_shapes.hpp"

namespace trireme::adapt {
namespace {

// A change for fewer steps must save the minimum gain of the time of this number of steps, so that small errors
// of predictions cause no changes.
constexpr std::size_t min_compared_steps = 8;

// Proposes the layout of the options, to which a run returns when coming steps need no other layout.
policy::Proposer make_origin_proposer(const layout::Layout& origin) {
    return
        [origin = policy::SharedLayout(origin)](const plan::Observation&, const policy::Candidate& candidate) {
            policy::Candidate next = candidate;
            next.layout = origin;
            next.causes.push_back({.proposer = "length", .reason = "the layout of the options"});
            return std::vector{std::move(next)};
        };
}

std::string describe_next_step(const plan::StepAhead& next) {
    return cat("the next step has samples of up to ", format_count(std::ranges::max(next.lengths), "token"));
}

}  // namespace

LengthChooser::LengthChooser(const setup::Job& job, const setup::PlanState& current,
                             const layout::Layout& origin, const std::vector<int>& nodes)
    : job_(job),
      current_(current),
      origin_(origin),
      propose_(make_length_proposer(make_length_rules(job, current, origin))),
      outlook_(job, current, nodes) {
    if (job.config.policy.elastic_rule == config::ElasticRule::published)
        published_.emplace(job, current, origin_, outlook_);
}

void LengthChooser::continue_from(LengthChooser& earlier) {
    decisions_ = std::move(earlier.decisions_);
    observed_sum_ = earlier.observed_sum_;
    predicted_sum_ = earlier.predicted_sum_;
}

void LengthChooser::observe(records::StepOutcome& outcome) {
    if (auto decision = decisions_.extract(outcome.step)) outcome.elastic = std::move(decision.mapped());
    const auto predicted = predicted_seconds_.find(outcome.step);
    if (predicted == predicted_seconds_.end()) return;
    observed_sum_ += outcome.seconds;
    predicted_sum_ += predicted->second;
    predicted_seconds_.erase(predicted);
}

void LengthChooser::exclude(const layout::Layout& layout) {
    outlook_.exclude(layout);
    predicted_seconds_.clear();
    if (decisions_.empty()) return;
    const auto last = std::prev(decisions_.end());
    const policy::Candidate current = find_current();
    if (outlook_.can_execute_next_step(current, known_steps_.at(last->first)))
        last->second.outcome = name_outcome(current, last->first);
    else
        decisions_.erase(last);
}

policy::Candidate LengthChooser::find_current() const {
    return {.layout = current_.plan.layout,
            .microbatches = current_.plan.microbatches(),
            .schedule = current_.plan.schedule};
}

std::vector<plan::StepAhead> LengthChooser::list_steps_ahead(std::size_t step) {
    known_steps_.erase(known_steps_.begin(), known_steps_.lower_bound(step));
    std::vector<plan::StepAhead> steps;
    for (std::size_t s = step; s < std::min(job_.steps, step + job_.config.policy.look_ahead); ++s) {
        plan::StepAhead& ahead = known_steps_[s];
        if (ahead.lengths.empty()) {
            ahead.step = s;
            ahead.lengths = setup::list_sample_lengths(job_, s);
        }
        steps.push_back(ahead);
    }
    return steps;
}

// Returns ElasticDecision::outcome of the decision that step `step` has the plan of `chosen`.
std::string LengthChooser::name_outcome(const policy::Candidate& chosen, std::size_t step) {
    const std::size_t before = current_.plan.layout.stages.size();
    const std::size_t after = chosen.layout->stages.size();
    if (chosen.layout == current_.plan.layout)
        return outlook_.predict_deficit_bytes(chosen, step) > 0 ? "memory" : "keep";
    return after > before ? "grow" : after < before ? "shrink" : "rearrange";
}

// If predictions are only relative, the plan stays until a step has been observed, unless the next step does
// not fit into memory.
std::optional<plan::Decision> LengthChooser::decide(plan::Observation observed,
                                                    const policy::Proposer& propose_for_slow_ranks,
                                                    ChangePredictions changes) {
    const double begin = device::now_seconds();
    const std::size_t step = observed.step;
    const bool are_seconds = job_.devices || job_.profiles;
    const bool has_scale = are_seconds || predicted_sum_ > 0;
    const double scale = are_seconds || !has_scale ? 1 : observed_sum_ / predicted_sum_;
    outlook_.begin_decision(step, scale, observed.slowness, std::move(changes));
    observed.ahead = list_steps_ahead(step);
    const policy::Candidate current = find_current();
    const plan::StepAhead& next = observed.ahead.front();
    std::optional<plan::Decision> decision;
    records::ElasticDecision record;
    if (has_scale || !outlook_.can_execute_next_step(current, next)) {
        decision = published_ ? decide_as_published(observed, current, scale, record)
                              : decide_ahead(observed, current, propose_for_slow_ranks, record);
    }
    policy::Candidate chosen = current;
    if (decision) chosen.layout = decision->layout;
    if (outlook_.can_execute_next_step(chosen, next)) {
        record.outcome = name_outcome(chosen, step);
        const auto outlook = are_seconds ? std::nullopt : outlook_.predict_next_step(chosen, next);
        if (outlook) predicted_seconds_[step] = outlook->seconds / scale;
        if (!device::time_is_simulated()) record.decision_seconds = device::now_seconds() - begin;
        decisions_[step] = record;
    }
    return decision;
}

std::optional<plan::Decision> LengthChooser::decide_ahead(const plan::Observation& observed,
                                                          const policy::Candidate& current,
                                                          const policy::Proposer& propose_for_slow_ranks,
                                                          records::ElasticDecision& record) {
    std::size_t horizon = job_.steps - observed.step;
    if (job_.config.policy.horizon > 0) horizon = std::min(horizon, job_.config.policy.horizon);
    std::vector proposers{make_origin_proposer(origin_), propose_};
    if (propose_for_slow_ranks) proposers.push_back(propose_for_slow_ranks);
    std::optional<policy::Verdict> verdict;
    do {
        verdict = policy::decide(observed, current, proposers, outlook_,
                                 {.horizon = horizon, .min_steps = min_compared_steps});
        if (!verdict) return std::nullopt;
    } while (verdict->pays_off && !outlook_.can_execute_next_step(verdict->candidate, observed.ahead.front()));
    record.current_seconds = verdict->current_seconds;
    record.new_seconds = verdict->path_seconds;
    record.change_seconds = verdict->change_seconds;
    if (!verdict->pays_off) return std::nullopt;
    // A layout may suit other steps than those for which it was proposed.
    for (plan::Cause& cause : verdict->candidate.causes)
        if (cause.proposer == "length") cause.reason = describe_next_step(observed.ahead.front());
    plan::Decision decision = make_decision(observed.step, verdict->candidate);
    decision.terms["gain_s"] = std::max(0.0, verdict->current_seconds - verdict->path_seconds);
    decision.terms["step_s"] = verdict->current_step_seconds;
    decision.terms["predicted_step_s"] = verdict->step_seconds;
    return decision;
}

std::optional<plan::Decision> LengthChooser::decide_as_published(const plan::Observation& observed,
                                                                 const policy::Candidate& current, double scale,
                                                                 records::ElasticDecision& record) {
    const policy::PublishedVerdict verdict = published_->decide(observed, current, scale);
    record.current_seconds = verdict.current_seconds;
    record.new_seconds = verdict.new_seconds + verdict.change_seconds;
    record.change_seconds = verdict.change_seconds;
    record.memory_seconds = verdict.memory_plan_seconds;
    record.fits = verdict.conditions.fits;
    record.change_takes_longer = verdict.conditions.change_takes_longer;
    if (!verdict.conditions.fits) {
        record.memory_plan_fits = verdict.conditions.memory_plan_fits;
        record.memory_plan_is_faster = verdict.conditions.memory_plan_is_faster;
    }
    record.peak_bytes = verdict.peak_bytes;
    record.pooled_bytes = verdict.pooled_bytes;
    record.refused_candidates = static_cast<double>(verdict.refused_candidates);
    if (!verdict.candidate) return std::nullopt;
    plan::Decision decision = make_decision(observed.step, *verdict.candidate);
    decision.terms["step_s"] = verdict.current_seconds;
    decision.terms["predicted_step_s"] = verdict.new_seconds;
    return decision;
}

void LengthChooser::check_longest_samples() {
    const auto longest = std::ranges::max(job_.samples.train, {}, &data::Sample::length).length;
    const std::vector<std::uint32_t> lengths(job_.config.run.batch, static_cast<std::uint32_t>(longest));
    const plan::Observation observed{.ahead = {{.step = 0, .lengths = lengths}}};
    const policy::Candidate current = find_current();
    std::string lack = outlook_.explain_lack_for_longest_samples(current);
    if (lack.empty()) return;
    for (const policy::Candidate& candidate : propose_(observed, current))
        if (outlook_.explain_lack_for_longest_samples(candidate).empty()) return;
    throw ConfigError(cat(lack, "; no other layout fits either"));
}

}  // namespace trireme::adapt
