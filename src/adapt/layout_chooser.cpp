#include "adapt/layout_chooser.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "adapt/layout_rules.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/policy/depth.hpp"
#include "trireme/policy/planner.hpp"
#include "trireme/policy/uneven.hpp"
#include "trireme/setup/elastic_layout.hpp"
#include "trireme/setup/step_predictor.hpp"
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

std::string describe_plan(const policy::Candidate& candidate) {
    return cat("steps are shortest with ", format_count(candidate.layout->stages.size(), "stage"), " and ",
               format_count(static_cast<std::size_t>(candidate.microbatches), "micro-batch"));
}

}  // namespace

LayoutChooser::LayoutChooser(const setup::Job& job, const setup::PlanState& current,
                             const layout::Layout& origin, int frozen)
    : job_(job), current_(current), origin_(origin), ranks_(job.ranks()), outlook_(job, current, frozen) {
    const RuleFacts facts{.job = job, .current = current, .origin = origin_, .frozen = frozen};
    if (may_plan_depth(job.config.policy)) {
        policy::DepthRules rules = make_depth_rules(facts);
        rules.predict = [this](const policy::Candidate& each,
                               const plan::StepAhead& step) -> std::optional<double> {
            const auto outlook = outlook_.predict_step(each, step);
            return outlook ? std::optional(outlook->seconds) : std::nullopt;
        };
        propose_for_depth_ = make_depth_proposer(std::move(rules));
    }
    if (!follows_lengths(job, current.plan)) return;
    propose_for_lengths_ = make_length_proposer(make_length_rules(facts));
    if (job.config.policy.elastic_rule == config::ElasticRule::published)
        published_.emplace(job, current, make_length_rules(facts), outlook_);
}

void LayoutChooser::continue_from(LayoutChooser& earlier) {
    outlook_.continue_from(earlier.outlook_);
    decisions_ = std::move(earlier.decisions_);
    observed_sum_ = earlier.observed_sum_;
    predicted_sum_ = earlier.predicted_sum_;
}

void LayoutChooser::observe(records::StepOutcome& outcome) {
    if (auto decision = decisions_.extract(outcome.step)) outcome.elastic = std::move(decision.mapped());
    const auto predicted = predicted_seconds_.find(outcome.step);
    if (predicted == predicted_seconds_.end()) return;
    observed_sum_ += outcome.seconds;
    predicted_sum_ += predicted->second;
    predicted_seconds_.erase(predicted);
}

void LayoutChooser::exclude(const layout::Layout& layout) {
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

policy::Candidate LayoutChooser::find_current() const {
    return {.layout = current_.plan.layout,
            .microbatches = current_.plan.microbatches(),
            .schedule = current_.plan.schedule};
}

std::vector<plan::StepAhead> LayoutChooser::list_steps_ahead(std::size_t step, std::size_t end) {
    known_steps_.erase(known_steps_.begin(), known_steps_.lower_bound(step));
    std::vector<plan::StepAhead> steps;
    for (std::size_t s = step; s < std::min(end, step + job_.config.policy.look_ahead); ++s) {
        plan::StepAhead& ahead = known_steps_[s];
        if (ahead.lengths.empty()) {
            ahead.step = s;
            ahead.lengths = setup::list_sample_lengths(job_, current_.samples, s);
        }
        steps.push_back(ahead);
    }
    return steps;
}

// Returns ElasticDecision::outcome of the decision that step `step` has the plan of `chosen`.
std::string LayoutChooser::name_outcome(const policy::Candidate& chosen, std::size_t step) {
    const std::size_t before = current_.plan.layout.stages.size();
    const std::size_t after = chosen.layout->stages.size();
    if (chosen.layout == current_.plan.layout)
        return outlook_.predict_deficit_bytes(chosen, step) > 0 ? "memory" : "keep";
    return after > before ? "grow" : after < before ? "shrink" : "rearrange";
}

// Returns the factor that makes seconds of predictions; empty if they are only relative and no step has been
// observed. If the layout does not follow lengths, decisions are rare, so that the scale comes from the steps
// since the last one.
std::optional<double> LayoutChooser::find_scale(const plan::Observation& observed) const {
    if (job_.devices || job_.profiles) return 1;
    if (predicted_sum_ > 0) return observed_sum_ / predicted_sum_;
    if (propose_for_lengths_ || observed.step_seconds <= 0) return std::nullopt;
    setup::StepPredictor predictor(job_, current_, ranks_, /*flops=*/0, observed.slowness);
    const std::optional<double> predicted = predictor.try_predict_seconds(observed.step - 1);
    return predicted ? std::optional(observed.step_seconds / *predicted) : std::nullopt;
}

// If there is no scale, the layout changes for lengths only if the next step does not fit into memory, and
// changes for the number of frozen blocks count as free.
std::optional<plan::Decision> LayoutChooser::decide(plan::Observation observed, std::size_t end,
                                                    const policy::Proposer& propose_for_slow_ranks,
                                                    ChangePredictions changes) {
    const double begin = device::now_seconds();
    const std::size_t step = observed.step;
    const bool are_seconds = job_.devices || job_.profiles;
    const std::optional<double> known_scale = find_scale(observed);
    const double scale = known_scale.value_or(1);
    if (!known_scale && changes.predict)
        changes = {.estimate = [](double, double) { return 0; },
                   .predict = [](const PlanTransition&) { return 0; }};
    outlook_.begin_decision(step, scale, observed.slowness, std::move(changes));
    observed.ahead = list_steps_ahead(step, end);
    const policy::Candidate current = find_current();
    const plan::StepAhead& next = observed.ahead.front();
    std::optional<plan::Decision> decision;
    records::ElasticDecision record;
    if (known_scale || propose_for_depth_ || !outlook_.can_execute_next_step(current, next)) {
        decision = published_ ? decide_as_published(observed, current, scale, record)
                              : decide_ahead(observed, end, current, propose_for_slow_ranks, record);
    }
    policy::Candidate chosen = current;
    if (decision) {
        chosen.layout = decision->layout;
        chosen.microbatches = *decision->microbatches;
    }
    if (outlook_.can_execute_next_step(chosen, next)) {
        record.outcome = name_outcome(chosen, step);
        const bool scales = !are_seconds && propose_for_lengths_;
        const auto outlook = scales ? outlook_.predict_next_step(chosen, next) : std::nullopt;
        if (outlook) predicted_seconds_[step] = outlook->seconds / scale;
        if (!device::time_is_simulated()) record.decision_seconds = device::now_seconds() - begin;
        decisions_[step] = record;
    }
    return decision;
}

// Lists the proposers in the order in which they vary candidates. Without a proposer for the number of frozen
// blocks, the plan to which a run returns has the layout of the options.
std::vector<policy::Proposer> LayoutChooser::list_proposers(const policy::Proposer& propose_for_slow_ranks) {
    std::vector<policy::Proposer> proposers;
    proposers.push_back(propose_for_depth_ ? propose_for_depth_ : make_origin_proposer(origin_));
    if (propose_for_lengths_) proposers.push_back(propose_for_lengths_);
    if (propose_for_slow_ranks) {
        proposers.push_back([&](const plan::Observation& observed, policy::Candidate candidate) {
            candidate.layout = policy::make_even_layout(candidate.layout);
            return propose_for_slow_ranks(observed, candidate);
        });
    }
    return proposers;
}

std::optional<plan::Decision> LayoutChooser::decide_ahead(const plan::Observation& observed, std::size_t end,
                                                          const policy::Candidate& current,
                                                          const policy::Proposer& propose_for_slow_ranks,
                                                          records::ElasticDecision& record) {
    std::size_t horizon = end - observed.step;
    if (job_.config.policy.horizon > 0) horizon = std::min(horizon, job_.config.policy.horizon);
    const std::vector<policy::Proposer> proposers = list_proposers(propose_for_slow_ranks);
    std::optional<policy::Verdict> verdict;
    do {
        verdict = policy::decide(observed, current, proposers, outlook_,
                                 {.horizon = horizon,
                                  .min_steps = min_compared_steps,
                                  .may_change_later = propose_for_lengths_ != nullptr});
        if (!verdict) return std::nullopt;
    } while (verdict->pays_off && !outlook_.can_execute_next_step(verdict->candidate, observed.ahead.front()));
    record.current_seconds = verdict->current_seconds;
    record.new_seconds = verdict->path_seconds;
    record.change_seconds = verdict->change_seconds;
    if (!verdict->pays_off) return std::nullopt;
    // A layout may suit other steps than those for which it was proposed.
    for (plan::Cause& cause : verdict->candidate.causes) {
        if (cause.proposer == "length") cause.reason = describe_next_step(observed.ahead.front());
        if (cause.proposer == "auto-pipe") cause.reason = describe_plan(verdict->candidate);
    }
    plan::Decision decision = outlook_.decide(verdict->candidate);
    decision.terms["gain_s"] = std::max(0.0, verdict->current_seconds - verdict->path_seconds);
    decision.terms["step_s"] = verdict->current_step_seconds;
    decision.terms["predicted_step_s"] = verdict->step_seconds;
    return decision;
}

std::optional<plan::Decision> LayoutChooser::decide_as_published(const plan::Observation& observed,
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

void LayoutChooser::check_memory() {
    const std::size_t step = job_.completed_steps;
    outlook_.begin_decision(step, 1, {}, {});
    const policy::Candidate current = find_current();
    if (outlook_.is_possible(current)) return;
    const plan::Observation observed{.step = step,
                                     .ahead = list_steps_ahead(step, current_.samples.count_steps())};
    if (!propose_for_depth_(observed, current).empty()) return;
    std::size_t smallest_bytes = outlook_.predict_bytes(current);
    policy::DepthRules rules =
        make_depth_rules({.job = job_, .current = current_, .origin = origin_, .frozen = current_.plan.frozen});
    rules.memory_limit = 0;
    rules.predict = [&](const policy::Candidate& each, const plan::StepAhead&) -> std::optional<double> {
        smallest_bytes = std::min(smallest_bytes, outlook_.predict_bytes(each));
        return std::nullopt;  // the next candidate is considered, too
    };
    make_depth_proposer(std::move(rules))(observed, current);
    throw ConfigError(cat("--memory-limit ", format_with_commas(job_.config.layout.memory_limit),
                          " bytes is too small for all layouts that --auto-pipe on considers, because a rank "
                          "needs at least ",
                          format_with_commas(smallest_bytes),
                          " bytes; raise it, or use more ranks or --recompute"));
}

void LayoutChooser::check_longest_samples() {
    const auto longest = std::ranges::max(job_.samples.train, {}, &data::Sample::length).length;
    const std::vector<std::uint32_t> lengths(current_.samples.batch, static_cast<std::uint32_t>(longest));
    const plan::Observation observed{.ahead = {{.step = 0, .lengths = lengths}}};
    const policy::Candidate current = find_current();
    std::string lack = outlook_.explain_lack_for_longest_samples(current);
    if (lack.empty()) return;
    for (const policy::Candidate& candidate : propose_for_lengths_(observed, current))
        if (outlook_.explain_lack_for_longest_samples(candidate).empty()) return;
    throw ConfigError(cat(lack, "; no other layout fits either"));
}

}  // namespace trireme::adapt
