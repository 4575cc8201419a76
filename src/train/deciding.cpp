#include "train/deciding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "train/straggler_policy.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/number_text.hpp"
#include "trireme/comm/collectives.hpp"

namespace trireme {

std::size_t next_look(const PolicyConfig& policy, std::size_t first, std::size_t steps) {
    if (policy.straggler == StragglerPolicy::off) return steps;
    return std::min(steps, (first / policy.look_every + 1) * policy.look_every);
}

Deciding::Deciding(const RunConfig& config, const Setup& setup, const std::vector<int>& nodes,
                   std::vector<Decision> recorded)
    : config_(config),
      setup_(setup),
      nodes_(nodes),
      recorded_(std::move(recorded)),
      policy_(config.policy.decisions.empty() ? straggler_policy(config, setup, nodes, {})
                                              : trireme::recorded(recorded_)),
      observer_(static_cast<int>(nodes.size())) {
    const PlanOrigin& origin = setup.origin;
    if (!origin.slowness.empty()) observer_.go_on_from(origin.slowness, origin.steady_steps);
}

void Deciding::know_link(const Link& link) {
    if (config_.policy.decisions.empty()) policy_ = straggler_policy(config_, setup_, nodes_, link);
}

// Of the state, by messages.
StateMoves Deciding::moves_to(const DecidedPlan& next) const {
    return state_moves(setup_.plan, gradient_plan(setup_), next.plan, gradient_plan(next.sized(setup_)),
                       {.most_elements = next.elements_in_flight});
}

// Until one has been made: as if the rank with the most to send or to get did so at a gigabyte a second.
double Deciding::predicted_seconds(const StateMoves& moves) const {
    constexpr double assumed_rate = 1e9;
    const std::size_t sent = moves.bytes(&Move::elements_sent, config_.optimizer, setup_.dtype);
    const std::size_t most = moves.bytes(&Move::most_elements_of_a_rank, config_.optimizer, setup_.dtype);
    return estimate_.seconds(sent).value_or(static_cast<double>(most) / assumed_rate);
}

bool Deciding::repays(const Decision& decision, const DecidedPlan& next) {
    if (stays_in_place(setup_.plan, next.plan)) return true;
    std::size_t steps = setup_.steps - decision.step;
    if (config_.policy.horizon > 0) steps = std::min(steps, config_.policy.horizon);
    const double gain = decision.terms.at(gain_term) * static_cast<double>(steps);
    const double cost = predicted_seconds(moves_to(next));
    if (gain > cost) return true;
    refuse(fmt::format("the best plan saves {:.2g} s in {}, the move costs {:.2g} s", gain,
                       counted(steps, "step"), cost));
    return false;
}

std::optional<DecidedPlan> Deciding::possible_plan(const Decision& decision, bool is_recorded) {
    try {
        return decided_plan(config_, setup_, setup_, static_cast<int>(nodes_.size()), decision);
    } catch (const ConfigError& error) {
        if (is_recorded) throw;
        refuse(error.what());
        return std::nullopt;
    }
}

std::optional<Choice> Deciding::choose(std::size_t step) {
    auto decision = policy_(observer_.observed(step), setup_.plan);
    if (!decision) {
        if (is_look(step)) last_complaint_.clear();
        return std::nullopt;
    }
    const bool is_recorded = std::ranges::find(recorded_, step, &Decision::step) != recorded_.end();
    auto next = possible_plan(*decision, is_recorded);
    if (!next || !(is_recorded || repays(*decision, *next))) return std::nullopt;
    decision->schedule = next->plan.schedule;
    decision->micro_batches = next->plan.micro_batches();
    return Choice{std::move(*decision), std::move(*next), is_recorded};
}

bool Deciding::is_look(std::size_t step) const {
    return config_.policy.straggler != StragglerPolicy::off && step % config_.policy.look_every == 0;
}

void Deciding::note(Decision& decision, const PlanChange& change) {
    decision.from = change.from;
    decision.to = change.to;
    decision.terms["moved_bytes"] = static_cast<double>(change.moved_bytes);
    decision.terms["kept_bytes"] = static_cast<double>(change.kept_bytes);
    observer_.begin_plan();
    last_complaint_.clear();
    if (change.moved_bytes + change.kept_bytes == 0) return;
    decision.predicted_seconds = estimate_.seconds(change.moved_bytes);
    decision.measured_seconds = change.seconds;
    estimate_.add(change.moved_bytes, change.seconds);
}

std::size_t Deciding::next_chance(std::size_t first) const {
    std::size_t next = setup_.steps;
    for (const Decision& decision : recorded_) {
        if (decision.step > first) next = std::min(next, decision.step);
    }
    return next_look(config_.policy, first, next);
}

std::string Deciding::take_complaint() {
    const std::string complaint = std::exchange(complaint_, "");
    if (complaint.empty() || complaint == last_complaint_) return {};
    last_complaint_ = complaint;
    return complaint;
}

void refuse_unlike_plans(Communicator& control, const std::optional<Choice>& choice, std::size_t step) {
    const std::vector<std::string> plans = gather_all(control, choice ? hash_of(choice->next.plan) : "none");
    if (std::ranges::count(plans, plans.front()) == std::ssize(plans)) return;
    throw ConfigError(cat("behind step ", step,
                          " ranks want different plans; give all nodes the same files of "
                          "--schedule and --profile, and the same program"));
}

}  // namespace trireme
