#include "trireme/adapt/deciding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "trireme/adapt/resumed_plan.hpp"
#include "trireme/adapt/straggler_policy.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/comm/collectives.hpp"

namespace trireme::adapt {
namespace {

// Returns the flops in the blocks' matmuls of all ranks, without skipped channels. Steps differ by their
// samples.
double flops_of_step(const plan::Observation& observed) {
    double flops = 0;
    for (const plan::RankTimes& rank : observed.ranks) flops += rank.whole_flops;
    return flops;
}

double seconds_of_flop(const plan::Observation& observed) {
    const double flops = flops_of_step(observed);
    return flops > 0 ? observed.step_seconds / flops : 0;
}

}  // namespace

std::size_t next_look(const config::PolicyConfig& policy, std::size_t first, std::size_t steps) {
    if (policy.straggler == config::StragglerPolicy::off) return steps;
    return std::min(steps, (first / policy.look_every + 1) * policy.look_every);
}

Deciding::Deciding(const setup::Job& job, const setup::PlanState& current, setup::PlanOrigin origin,
                   const std::vector<int>& nodes, std::vector<plan::Decision> recorded)
    : job_(job),
      current_(current),
      origin_(std::move(origin)),
      nodes_(nodes),
      recorded_(std::move(recorded)),
      policy_(job.config.policy.decisions.empty() ? straggler_policy(job, current, origin_.layout, nodes, {})
                                                  : trireme::policy::recorded(recorded_)),
      observer_(static_cast<int>(nodes.size())) {
    if (!origin_.slowness.empty()) observer_.go_on_from(origin_.slowness, origin_.steady_steps);
}

void Deciding::know_links(const layout::RankLinks& links) {
    link_ = links.all;
    const bool chooses = job_.config.policy.decisions.empty() && may_migrate(job_.config.policy);
    if (chooses) policy_ = straggler_policy(job_, current_, origin_.layout, nodes_, links.team);
}

// Before the first change, the estimate is the time on the measured link for the rank that transfers most.
double Deciding::predict_seconds(const PlanTransition& transition) const {
    const std::size_t most =
        transition.moves.bytes(&mover::Move::most_elements_of_a_rank, job_.config.optimizer, job_.dtype);
    return estimate_.seconds(transition.moved_bytes(job_)).value_or(link_.seconds(static_cast<double>(most)));
}

bool Deciding::repays(const plan::Decision& decision, const PlanTransition& transition) {
    if (!transition.moves_state) return true;
    std::size_t steps = job_.steps - decision.step;
    if (job_.config.policy.horizon > 0) steps = std::min(steps, job_.config.policy.horizon);
    const double gain = decision.terms.at(policy::gain_term) * static_cast<double>(steps);
    const double cost = predict_seconds(transition);
    if (gain > cost) return true;
    refuse(fmt::format("the best plan saves {:.2g} s in {}, the move costs {:.2g} s", gain,
                       counted(steps, "step"), cost));
    return false;
}

// Offloading shortens the steps only if helper ranks and links have time to spare. Migrations are judged once
// after each change, provided that no rank's slowness has changed since they began.
std::optional<plan::Decision> Deciding::take_back(const plan::Observation& observed) {
    constexpr std::size_t fewest = 5;  // steps
    constexpr double least_gain = 0.01;
    if (!help_ || help_->is_judged || !is_look(observed.step)) return std::nullopt;
    if (observed.step < help_->changed + fewest) return std::nullopt;
    help_->is_judged = true;
    const bool is_like_then = observed.steady_steps >= observed.step - help_->begun;
    const double before = help_->seconds_of_flop * flops_of_step(observed);
    if (!is_like_then || before == 0 || observed.step_seconds < (1 - least_gain) * before) return std::nullopt;
    return plan::Decision{
        .step = observed.step,
        .layout = current_.plan.layout,
        .left_out = help_->left_out,
        .policy = "migrate",
        .reason =
            fmt::format("help is taken back: as much work took {:.3g} s a step before it, and {:.3g} s with it",
                        before, observed.step_seconds),
        .terms = {{"step_s", observed.step_seconds}, {"predicted_step_s", before}}};
}

// Returns the policy's decision, unless it repeats migrations that were ended at the current slowness.
std::optional<plan::Decision> Deciding::wanted(const plan::Observation& observed) {
    auto decision = policy_(observed, current_.plan);
    if (!taken_back_) return decision;
    const bool is_like_then = observed.steady_steps >= observed.step - *taken_back_;
    if (!is_like_then) taken_back_.reset();
    if (!is_like_then || !decision || decision->migrations.empty()) return decision;
    refuse(cat("the help that was taken back after step ", *taken_back_, " would be no better now"));
    return std::nullopt;
}

// Reports that a rank is slow although the policy keeps the plan of the options, because a policy gives no
// reason.
void Deciding::note_silence(const plan::Observation& observed) {
    const plan::Plan& plan = current_.plan;
    const auto slowest = std::ranges::max_element(observed.slowness);
    const bool is_slow = slowest != observed.slowness.end() && *slowest > policy::SlownessRules{}.slow;
    const bool is_steady = observed.steady_steps >= job_.config.policy.look_every;
    const bool leaves_out = std::ranges::any_of(plan.left_out, [](double part) { return part > 0; });
    const bool is_as_given = plan.layout == origin_.layout && plan.migrations.empty() && !leaves_out;
    if (complaint_.empty() && is_slow && is_steady && is_as_given)
        refuse(cat("rank ", slowest - observed.slowness.begin(),
                   " is slow, and the policy knows no plan that shortens the steps"));
    if (complaint_.empty()) last_complaint_.clear();
}

std::optional<Choice> Deciding::choose(std::size_t step) {
    const plan::Observation observed = observer_.observed(step);
    auto decision = recorded_.empty() ? take_back(observed) : std::nullopt;
    const bool is_taken_back = decision.has_value();
    if (!decision) decision = wanted(observed);
    if (!decision) {
        if (is_look(step)) note_silence(observed);
        return std::nullopt;
    }
    std::optional<PlanTransition> transition;
    if (is_recorded(step)) {
        transition.emplace(plan_transition(job_, current_, nodes_, *decision));
    } else {
        std::string why;
        auto possible = possible_transition(job_, current_, nodes_, *decision, why);
        if (!possible) refuse(why);
        if (!possible || !repays(*decision, *possible)) return std::nullopt;
        transition.emplace(std::move(*possible));
    }
    const plan::Plan& next = transition->to.plan;
    decision->schedule = next.schedule;
    decision->microbatches = next.microbatches();
    offer_help(step, observed, *transition);
    offers_to_take_back_ = is_taken_back;
    return Choice{std::move(*decision), std::move(*transition), is_recorded(step)};
}

// Remembers the step times without migrations, to judge the migrations that the transition begins or changes.
void Deciding::offer_help(std::size_t step, const plan::Observation& observed,
                          const PlanTransition& transition) {
    offered_.reset();
    if (transition.moves_state || transition.to.plan.migrations.empty()) return;
    offered_ = help_;
    if (current_.plan.migrations.empty())
        offered_ = Help{
            .begun = step, .seconds_of_flop = seconds_of_flop(observed), .left_out = current_.plan.left_out};
    if (!offered_) return;
    offered_->changed = step;
    offered_->is_judged = false;
}

bool Deciding::is_look(std::size_t step) const {
    return job_.config.policy.straggler != config::StragglerPolicy::off && step > 0 &&
           step % job_.config.policy.look_every == 0;
}

bool Deciding::is_recorded(std::size_t step) const {
    return std::ranges::find(recorded_, step, &plan::Decision::step) != recorded_.end();
}

bool Deciding::may_change_plan(std::size_t step) const { return is_look(step) || is_recorded(step); }

void Deciding::note(plan::Decision& decision, const records::PlanChange& change) {
    decision.from = change.from;
    decision.to = change.to;
    decision.terms["moved_bytes"] = static_cast<double>(change.moved_bytes);
    decision.terms["kept_bytes"] = static_cast<double>(change.kept_bytes);
    help_ = std::exchange(offered_, std::nullopt);
    if (std::exchange(offers_to_take_back_, false)) taken_back_ = decision.step;
    observer_.begin_plan();
    last_complaint_.clear();
    if (change.moved_bytes + change.kept_bytes > 0) {
        decision.predicted_seconds = estimate_.seconds(change.moved_bytes);
        decision.measured_seconds = change.seconds;
        estimate_.add(change.moved_bytes, change.seconds);
    }
    note_origin(decision, current_.plan, origin_);
}

std::size_t Deciding::next_chance(std::size_t first) const {
    std::size_t next = job_.steps;
    for (const plan::Decision& decision : recorded_) {
        if (decision.step > first) next = std::min(next, decision.step);
    }
    return next_look(job_.config.policy, first, next);
}

std::string Deciding::take_complaint() {
    const std::string complaint = std::exchange(complaint_, "");
    if (complaint.empty() || complaint == last_complaint_) return {};
    last_complaint_ = complaint;
    return complaint;
}

void refuse_unlike_plans(comm::Communicator& control, const Choice* choice, std::size_t step) {
    const std::vector<std::string> plans =
        gather_all(control, choice ? hash_of(choice->transition.to.plan) : "none");
    if (std::ranges::count(plans, plans.front()) == std::ssize(plans)) return;
    throw ConfigError(cat("after step ", step,
                          " ranks want different plans; give all nodes the same files of "
                          "--schedule and --profile, and the same program"));
}

}  // namespace trireme::adapt
