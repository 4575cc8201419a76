#include "trireme/adapt/deciding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "trireme/adapt/straggler_policy.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/comm/collectives.hpp"

namespace trireme {
namespace {

// The operations in all ranks' matrix products of blocks, as if nothing was left out. Steps differ by their
// samples.
double flops_of_step(const Observation& observed) {
    double flops = 0;
    for (const RankTimes& rank : observed.ranks) flops += rank.whole_flops;
    return flops;
}

double seconds_of_flop(const Observation& observed) {
    const double flops = flops_of_step(observed);
    return flops > 0 ? observed.step_seconds / flops : 0;
}

}  // namespace

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

void Deciding::know_links(const RankLinks& links) {
    link_ = links.all;
    const bool chooses = config_.policy.decisions.empty() && may_migrate(config_.policy);
    if (chooses) policy_ = straggler_policy(config_, setup_, nodes_, links.team);
}

// Of the state, by messages.
StateMoves Deciding::moves_to(const DecidedPlan& next) const {
    return state_moves(setup_.plan, gradient_plan(setup_), next.plan, gradient_plan(next.sized(setup_)),
                       {.most_elements = next.elements_in_flight});
}

// The first estimate is the time of the rank with the most to send or to get, over the measured link.
double Deciding::predicted_seconds(const StateMoves& moves) const {
    const std::size_t sent = moves.bytes(&Move::elements_sent, config_.optimizer, setup_.dtype);
    const std::size_t most = moves.bytes(&Move::most_elements_of_a_rank, config_.optimizer, setup_.dtype);
    return estimate_.seconds(sent).value_or(link_.seconds(static_cast<double>(most)));
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

// Ranks that compute for another one shorten the steps only if they, and their messages, have the time. A help
// is judged once after each of its changes, if ranks are as slow as they were when it began.
std::optional<Decision> Deciding::take_back(const Observation& observed) {
    constexpr std::size_t fewest = 5;  // steps
    constexpr double least_gain = 0.01;
    if (!help_ || help_->is_judged || !is_look(observed.step)) return std::nullopt;
    if (observed.step < help_->changed + fewest) return std::nullopt;
    help_->is_judged = true;
    const bool is_like_then = observed.steady_steps >= observed.step - help_->begun;
    const double before = help_->seconds_of_flop * flops_of_step(observed);
    if (!is_like_then || before == 0 || observed.step_seconds < (1 - least_gain) * before) return std::nullopt;
    return Decision{.step = observed.step,
                    .layout = setup_.plan.layout,
                    .left_out = help_->left_out,
                    .policy = "migrate",
                    .reason = fmt::format(
                        "help is taken back: as much work took {:.3g} s a step before it, and {:.3g} s with it",
                        before, observed.step_seconds),
                    .terms = {{"step_s", observed.step_seconds}, {"predicted_step_s", before}}};
}

// The policy's decision, unless it is a help that was taken back while ranks were as slow as they are now.
std::optional<Decision> Deciding::wanted(const Observation& observed) {
    auto decision = policy_(observed, setup_.plan);
    if (!taken_back_) return decision;
    const bool is_like_then = observed.steady_steps >= observed.step - *taken_back_;
    if (!is_like_then) taken_back_.reset();
    if (!is_like_then || !decision || decision->migrations.empty()) return decision;
    refuse(cat("the help that was taken back after step ", *taken_back_, " would be no better now"));
    return std::nullopt;
}

// A policy that finds nothing to do about a slow rank in the plan of the options does not say why.
void Deciding::note_silence(const Observation& observed) {
    const Plan& plan = setup_.plan;
    const auto slowest = std::ranges::max_element(observed.slowness);
    const bool is_slow = slowest != observed.slowness.end() && *slowest > SlownessRules{}.slow;
    const bool is_steady = observed.steady_steps >= config_.policy.look_every;
    const bool leaves_out = std::ranges::any_of(plan.left_out, [](double part) { return part > 0; });
    const bool is_as_given = plan.layout == setup_.origin.layout && plan.migrations.empty() && !leaves_out;
    if (complaint_.empty() && is_slow && is_steady && is_as_given)
        refuse(cat("rank ", slowest - observed.slowness.begin(),
                   " is slow, and the policy knows no plan that shortens the steps"));
    if (complaint_.empty()) last_complaint_.clear();
}

std::optional<Choice> Deciding::choose(std::size_t step) {
    const Observation observed = observer_.observed(step);
    auto decision = recorded_.empty() ? take_back(observed) : std::nullopt;
    const bool is_taken_back = decision.has_value();
    if (!decision) decision = wanted(observed);
    if (!decision) {
        if (is_look(step)) note_silence(observed);
        return std::nullopt;
    }
    const bool is_recorded = std::ranges::find(recorded_, step, &Decision::step) != recorded_.end();
    auto next = possible_plan(*decision, is_recorded);
    if (!next || !(is_recorded || repays(*decision, *next))) return std::nullopt;
    decision->schedule = next->plan.schedule;
    decision->micro_batches = next->plan.micro_batches();
    offered_.reset();
    if (stays_in_place(setup_.plan, next->plan) && !next->plan.migrations.empty()) {
        offered_ = help_;
        if (setup_.plan.migrations.empty())
            offered_ = Help{
                .begun = step, .seconds_of_flop = seconds_of_flop(observed), .left_out = setup_.plan.left_out};
        if (offered_) offered_->changed = step;
        if (offered_) offered_->is_judged = false;
    }
    offers_to_take_back_ = is_taken_back;
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
    help_ = std::exchange(offered_, std::nullopt);
    if (std::exchange(offers_to_take_back_, false)) taken_back_ = decision.step;
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
    throw ConfigError(cat("after step ", step,
                          " ranks want different plans; give all nodes the same files of "
                          "--schedule and --profile, and the same program"));
}

}  // namespace trireme
