#include "schedule/search/list_scheduler.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "trireme/schedule/search.hpp"

namespace trireme::schedule {

ListScheduler::ListScheduler(const PipelineShape& shape, const StageHoldings& holdings,
                             const std::vector<StageCost>& costs, const std::vector<bool>& may_split)
    : shape_(shape),
      holdings_(holdings),
      costs_(costs),
      may_split_(may_split),
      min_activations_(compute_min_activations(shape)),
      budget_index_(holdings.count_passes()),
      clock_(shape, holdings, costs) {
    // Per team: see the constructor of ActivationBudget.
    std::vector<std::vector<int>> needed_activations_of_teams(min_activations_.size());
    std::vector<int> last_microbatch(min_activations_.size(), no_microbatch);  // per team
    for (int m = 0; m < shape.microbatches; ++m) {
        for (int stage = 0; stage < shape.stages(); ++stage) {
            const auto t = static_cast<std::size_t>(shape.find_executor(stage, m));
            if (std::exchange(last_microbatch[t], m) != m) needed_activations_of_teams[t].push_back(0);
            ++needed_activations_of_teams[t].back();
            budget_index_[holdings.pass_index(stage, m)] = needed_activations_of_teams[t].size() - 1;
        }
    }
    for (const std::vector<int>& needed_activations : needed_activations_of_teams)
        initial_team_states_.push_back({.budget = ActivationBudget(needed_activations)});
}

std::vector<Program> ListScheduler::make_programs(const ListRule& rule) {
    reset(rule);
    while (!decisions_.empty()) {
        const auto [now, team] = decisions_.top();
        decisions_.pop();
        // The team may have become busy after this decision was queued. A busy team decides again when it is
        // free.
        if (clock_.find_free_time(team) <= now) decide(team, now);
    }
    return std::move(programs_);
}

std::size_t ListScheduler::compute_peak_activations() const {
    std::size_t sum = 0;
    for (const TeamState& team_state : team_states_) sum += static_cast<std::size_t>(team_state.budget.peak());
    return sum;
}

void ListScheduler::reset(const ListRule& rule) {
    rule_ = &rule;
    clock_.reset();
    team_states_ = initial_team_states_;
    ready_work_.assign(holdings_.all_holdings().size(), {});
    is_released_.assign(holdings_.count_passes(), false);
    programs_.assign(team_states_.size(), {});
    for (std::size_t t = 0; t < team_states_.size(); ++t) {
        constexpr int no_limit = std::numeric_limits<int>::max();
        const int shape_limit = shape_.max_activations.empty() ? no_limit : shape_.max_activations[t];
        team_states_[t].budget.set_limit(
            std::max(min_activations_[t], std::min(rule.teams[t].max_activations, shape_limit)));
    }
    for (int m = 0; m < shape_.microbatches; ++m) {
        deliver({.team = shape_.find_executor(0, m), .time = 0, .work = {Op::forward, 0, m}});
    }
}

// Chooses and executes the next instruction of a team. If no instruction is possible, the team decides again
// when its next input arrives.
void ListScheduler::decide(int team, double now) {
    using enum InstructionKind;
    // Indexed by Preference.
    constexpr std::array<std::array<InstructionKind, 3>, 3> preferred_kinds{
        {{backward, forward, weight_half}, {forward, backward, weight_half}, {weight_half, forward, backward}}};
    TeamState& team_state = team_states_[static_cast<std::size_t>(team)];
    accept_arrivals(team_state, now);
    const Preference preference = rule_->teams[static_cast<std::size_t>(team)].preference;
    for (const InstructionKind kind : preferred_kinds[static_cast<std::size_t>(preference)]) {
        if (const std::optional<Instruction> chosen = choose_instruction(kind, team, now))
            return execute(team, *chosen);
    }
    team_state.is_idle = true;
    if (!team_state.arriving_work.empty()) decisions_.emplace(team_state.arriving_work.top().time, team);
}

void ListScheduler::accept_arrivals(TeamState& team_state, double now) {
    while (!team_state.arriving_work.empty() && team_state.arriving_work.top().time <= now) {
        const auto [op, stage, microbatch, age, mhz] = team_state.arriving_work.top().work;
        ReadyWork& ready_work = ready_work_[holdings_.find_holding(holdings_.pass_index(stage, microbatch))];
        (op == Op::forward ? ready_work.forwards : ready_work.backwards).push(microbatch);
        team_state.arriving_work.pop();
    }
}

std::optional<Instruction> ListScheduler::choose_instruction(InstructionKind kind, int team, double now) const {
    switch (kind) {
        case InstructionKind::forward:
            return choose_forward(team);
        case InstructionKind::backward:
            return choose_backward(team);
        case InstructionKind::weight_half:
            return choose_weight_half(team, now);
    }
    return std::nullopt;
}

std::optional<Instruction> ListScheduler::choose_forward(int team) const {
    for (std::size_t h = holdings_.end_index(team); h-- > holdings_.first_index(team);) {
        if (ready_work_[h].forwards.empty()) continue;
        const Instruction forward{Op::forward, holdings_.all_holdings()[h].stage,
                                  ready_work_[h].forwards.top()};
        if (fits_budget(team, forward)) return forward;
    }
    return std::nullopt;
}

std::optional<Instruction> ListScheduler::choose_backward(int team) const {
    std::optional<Instruction> chosen;
    const bool splits_no_backward = rule_->teams[static_cast<std::size_t>(team)].splits_no_backward;
    for (std::size_t h = holdings_.first_index(team); h < holdings_.end_index(team); ++h) {
        if (ready_work_[h].backwards.empty() || (chosen && !rule_->prefers_last_backward)) continue;
        const int stage = holdings_.all_holdings()[h].stage;
        const bool splits = !splits_no_backward && may_split_[static_cast<std::size_t>(stage)];
        const Instruction backward{splits ? Op::backward_input : Op::backward, stage,
                                   ready_work_[h].backwards.top()};
        if (splits || !must_wait_for_next_stage(team, backward)) chosen = backward;
    }
    return chosen;
}

// True if an unsplit backward must wait until this team has executed the weight half of the next stage. That
// weight half reads the output of the stage of `backward`, which the unsplit backward would release. (Weight
// halves need no such test: a team executes the weight halves of later stages first.)
bool ListScheduler::must_wait_for_next_stage(int team, const Instruction& backward) const {
    const int next = backward.stage + 1;
    return next < shape_.stages() && shape_.find_executor(next, backward.microbatch) == team &&
           !is_released_[holdings_.pass_index(next, backward.microbatch)];
}

std::optional<Instruction> ListScheduler::choose_weight_half(int team, double now) const {
    for (std::size_t h = holdings_.end_index(team); h-- > holdings_.first_index(team);) {
        const ReadyWork& ready_work = ready_work_[h];
        if (ready_work.weight_halves_done == ready_work.weight_halves.size()) continue;
        const int stage = holdings_.all_holdings()[h].stage;
        if (should_delay_weight_half(team, stage, now)) return std::nullopt;
        return Instruction{Op::backward_weight, stage, ready_work.weight_halves[ready_work.weight_halves_done]};
    }
    return std::nullopt;
}

bool ListScheduler::fits_budget(int team, const Instruction& forward) const {
    const std::size_t budget_index = budget_index_[holdings_.pass_index(forward.stage, forward.microbatch)];
    return !shape_.is_training || team_states_[static_cast<std::size_t>(team)].budget.may_stash(budget_index);
}

// True if a weight half of `stage` should wait for an input that arrives soon: see TeamRule::delay_fraction.
// Waiting for the input of a forward that exceeds the activation budget is useless.
bool ListScheduler::should_delay_weight_half(int team, int stage, double now) const {
    const double delay_fraction = rule_->teams[static_cast<std::size_t>(team)].delay_fraction;
    const auto& arriving_work = team_states_[static_cast<std::size_t>(team)].arriving_work;
    if (delay_fraction <= 0 || arriving_work.empty()) return false;
    const auto& [arrival_time, work] = arriving_work.top();
    if (work.op == Op::forward && !fits_budget(team, work)) return false;
    return arrival_time - now < delay_fraction * costs_[static_cast<std::size_t>(stage)].backward_weight;
}

void ListScheduler::execute(int team, const Instruction& instruction) {
    TeamState& team_state = team_states_[static_cast<std::size_t>(team)];
    remove_ready_work(instruction);
    update_budget(team_state, instruction);
    programs_[static_cast<std::size_t>(team)].push_back(instruction);
    team_state.is_idle = false;
    deliver(clock_.execute(team, instruction));
    decisions_.emplace(clock_.find_free_time(team), team);
}

void ListScheduler::remove_ready_work(const Instruction& instruction) {
    const auto [op, stage, microbatch, age, mhz] = instruction;
    ReadyWork& ready_work = ready_work_[holdings_.find_holding(holdings_.pass_index(stage, microbatch))];
    if (op == Op::forward) {
        ready_work.forwards.pop();
    } else if (op == Op::backward_weight) {
        ++ready_work.weight_halves_done;
    } else {
        ready_work.backwards.pop();
        if (op == Op::backward_input) ready_work.weight_halves.push_back(microbatch);
    }
}

void ListScheduler::update_budget(TeamState& team_state, const Instruction& instruction) {
    if (!shape_.is_training) return;  // without backwards, no activation is stashed
    const std::size_t pass = holdings_.pass_index(instruction.stage, instruction.microbatch);
    if (instruction.op == Op::forward) team_state.budget.stash_activation(budget_index_[pass]);
    if (instruction.op != Op::backward && instruction.op != Op::backward_weight) return;
    team_state.budget.release_activation(budget_index_[pass]);
    is_released_[pass] = true;
}

void ListScheduler::deliver(const Delivery& delivery) {
    if (delivery.team < 0) return;
    TeamState& team_state = team_states_[static_cast<std::size_t>(delivery.team)];
    team_state.arriving_work.push({delivery.time, delivery.work});
    if (team_state.is_idle) decisions_.emplace(delivery.time, delivery.team);
}

}  // namespace trireme::schedule
