#include "adapt/freeze_chooser.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "trireme/adapt/resumed_plan.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::adapt {
namespace {

using Json = nlohmann::ordered_json;

std::string describe_blocks(int depth, int blocks) {
    return fmt::format("{} of {} are frozen", depth, format_count(static_cast<std::size_t>(blocks), "block"));
}

// Returns the settings with which a state may continue.
Json list_settings(const config::FreezeConfig& config) {
    return {{"rule", find_name(config::freeze_rules, config.rule)},
            {"alpha", config.alpha},
            {"every", config.every}};
}

Json to_json_or_null(const std::optional<double>& number) { return number ? Json(*number) : Json(); }

std::optional<double> parse_number(const Json& value) {
    return value.is_null() ? std::nullopt : std::optional(value.get<double>());
}

}  // namespace

FreezeChooser::FreezeChooser(const setup::Job& job, const setup::PlanState& current)
    : job_(job),
      current_(current),
      rules_{.blocks = static_cast<int>(job.model.layers),
             .alpha = job.config.policy.freeze.alpha,
             .follows_gradients = job.config.policy.freeze.rule == config::FreezeRule::gradient} {
    const config::FreezeConfig& freeze = job.config.policy.freeze;
    if (freeze.rule == config::FreezeRule::off) return;
    period_samples_ = freeze.every > 0 ? freeze.every * job.config.run.batch : job.samples.train.size();
    if (is_on() && job.resumes) restore_state();
}

// A state that this program has not written is ignored, as is that of another rule or another --frozen.
void FreezeChooser::restore_state() {
    const Json run = Json::parse(job_.stored_model->state()->run, nullptr, false);
    if (!run.is_object() || !run.contains(freeze_key)) return;
    try {
        const Json& saved = run.at(freeze_key);
        if (saved.at("settings") != list_settings(job_.config.policy.freeze)) return;
        if (saved.at("depth") != current_.plan.frozen) return;
        policy::FreezeState state{.periods = saved.at("periods"),
                                  .held_periods = saved.at("held_periods"),
                                  .earlier_depths = saved.at("earlier_depths"),
                                  .block_squares = saved.at("block_squares"),
                                  .best_loss = parse_number(saved.at("best_loss")),
                                  .thaw_loss = parse_number(saved.at("thaw_loss"))};
        evaluated_step_ = saved.at("evaluated_step");
        state_ = std::move(state);
    } catch (const Json::exception&) {
    }
}

std::string FreezeChooser::describe_state() const {
    if (!is_on()) return {};
    return Json{{"settings", list_settings(job_.config.policy.freeze)},
                {"depth", current_.plan.frozen},
                {"periods", state_.periods},
                {"held_periods", state_.held_periods},
                {"earlier_depths", state_.earlier_depths},
                {"block_squares", state_.block_squares},
                {"best_loss", to_json_or_null(state_.best_loss)},
                {"thaw_loss", to_json_or_null(state_.thaw_loss)},
                {"evaluated_step", evaluated_step_}}
        .dump();
}

// A period of n samples ends after the first step by which T * n samples have been visited, for each T >= 1.
std::size_t FreezeChooser::count_period_ends(std::size_t step) const {
    const setup::StepSamples& samples = current_.samples;
    if (step == 0) return 0;
    return samples.count_visits(step) / period_samples_ - samples.count_visits(step - 1) / period_samples_;
}

std::size_t FreezeChooser::find_next_period_end(std::size_t first) const {
    const setup::StepSamples& samples = current_.samples;
    if (period_samples_ == 0) return samples.count_steps();
    const std::size_t periods = samples.count_visits(first) / period_samples_ + 1;
    return std::min(samples.count_steps(), samples.find_step(periods * period_samples_));
}

std::size_t FreezeChooser::find_next_change(std::size_t first) const {
    const policy::FreezeState& state = next_state_ ? *next_state_ : state_;
    const int depth = next_state_ ? decided_depth_ : current_.plan.frozen;
    std::size_t end = find_next_period_end(first);
    if (!is_on() || rules_.follows_gradients || job_.config.policy.freeze.thaws) return end;
    for (std::size_t periods = state.periods + 1;
         end < current_.samples.count_steps() && depth < rules_.blocks &&
         find_scheduled_depth(rules_, periods) <= depth;
         ++periods)
        end = find_next_period_end(end);
    return depth < rules_.blocks ? end : current_.samples.count_steps();
}

bool FreezeChooser::may_decide(std::size_t step) const {
    return is_on() && (count_period_ends(step) > 0 || state_.thaw_loss);
}

void FreezeChooser::observe(const records::StepOutcome& outcome) {
    if (!is_on()) return;
    accept_decision();
    if (!outcome.block_squares.empty() && !outcome.is_skipped) add_step(outcome.block_squares, state_);
}

void FreezeChooser::observe(const records::Evaluation& evaluation, std::size_t step) {
    if (!job_.config.policy.freeze.thaws) return;
    add_evaluation(evaluation.loss, state_);
    evaluated_step_ = step;
}

bool FreezeChooser::lacks_evaluation(std::size_t step) const {
    const std::size_t period = job_.config.run.eval_every;
    return is_on() && job_.config.policy.freeze.thaws && step > 0 && step % period == 0 &&
           evaluated_step_ != step;
}

plan::Decision FreezeChooser::make_decision(std::size_t step, int depth) const {
    const plan::Plan& plan = current_.plan;
    return {.step = step,
            .layout = plan.layout,
            .schedule = plan.schedule,
            .frozen = depth,
            .skipped = plan.skipped,
            .migrations = plan.migrations,
            .terms = {{"periods", static_cast<double>(next_state_->periods)}}};
}

std::optional<plan::Decision> FreezeChooser::decide(std::size_t step) {
    if (!may_decide(step)) return std::nullopt;
    const int depth = current_.plan.frozen;
    next_state_ = state_;
    if (state_.thaw_loss) {
        decided_depth_ = thaw(*next_state_);
        plan::Decision decision = make_decision(step, decided_depth_);
        decision.policy = "freeze-thaw";
        decision.reason =
            fmt::format("the validation loss {:.4g} exceeds 1.01 times the lowest one, {:.4g}: {}",
                        *state_.thaw_loss, *state_.best_loss, describe_blocks(decided_depth_, rules_.blocks));
        decision.terms["loss"] = *state_.thaw_loss;
        decision.terms["best_loss"] = *state_.best_loss;
        return decision;
    }
    decided_depth_ = end_periods(rules_, count_period_ends(step), depth, *next_state_);
    if (decided_depth_ == depth) return std::nullopt;
    plan::Decision decision = make_decision(step, decided_depth_);
    decision.policy = cat("freeze-", find_name(config::freeze_rules, job_.config.policy.freeze.rule));
    decision.reason = fmt::format("{} ended: {}", format_count(next_state_->periods, "period"),
                                  describe_blocks(decided_depth_, rules_.blocks));
    decision.terms["bound"] = find_depth_bound(rules_, next_state_->periods, depth);
    for (std::size_t block = static_cast<std::size_t>(depth); block < state_.block_squares.size(); ++block)
        decision.terms[cat("norm_", block)] = std::sqrt(state_.block_squares[block]);
    return decision;
}

// If the depth of the decision was not possible, blocks neither froze nor thawed.
void FreezeChooser::accept_decision() {
    if (!next_state_) return;
    if (current_.plan.frozen != decided_depth_) next_state_->earlier_depths = state_.earlier_depths;
    state_ = *std::exchange(next_state_, std::nullopt);
}

plan::Decision add_depth(const plan::Decision& depth, plan::Decision other) {
    other.frozen = depth.frozen;
    other.reason += "; " + depth.reason;
    other.causes.push_back({.proposer = depth.policy, .reason = depth.reason, .terms = depth.terms});
    return other;
}

}  // namespace trireme::adapt
