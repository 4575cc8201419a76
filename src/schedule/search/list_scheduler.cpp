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
      least_(least_activations(shape)),
      turn_(holdings.cells()),
      clock_(shape, holdings, costs) {
    std::vector<std::vector<int>> needed(least_.size());  // per team and micro-batch of the team
    std::vector<int> last(least_.size(), no_microbatch);
    for (int m = 0; m < shape.microbatches; ++m) {
        for (int stage = 0; stage < shape.stages(); ++stage) {
            const auto t = static_cast<std::size_t>(shape.executor_of(stage, m));
            if (std::exchange(last[t], m) != m) needed[t].push_back(0);
            ++needed[t].back();
            turn_[holdings.cell(stage, m)] = needed[t].size() - 1;
        }
    }
    for (const std::vector<int>& each : needed) untouched_.push_back({.room = ActivationRoom(each)});
}

std::vector<Program> ListScheduler::programs(const ListRule& rule) {
    begin_again(rule);
    while (!calls_.empty()) {
        const auto [now, team] = calls_.top();
        calls_.pop();
        if (clock_.time_of(team) <= now) decide(team, now);
    }
    return std::move(programs_);
}

std::size_t ListScheduler::kept() const {
    std::size_t sum = 0;
    for (const Team& team : teams_) sum += static_cast<std::size_t>(team.room.peak());
    return sum;
}

void ListScheduler::begin_again(const ListRule& rule) {
    rule_ = &rule;
    clock_.begin_again();
    teams_ = untouched_;
    desks_.assign(holdings_.all().size(), {});
    is_given_back_.assign(holdings_.cells(), false);
    programs_.assign(teams_.size(), {});
    for (std::size_t t = 0; t < teams_.size(); ++t) {
        constexpr int any_number = std::numeric_limits<int>::max();
        const int most = shape_.most_activations.empty() ? any_number : shape_.most_activations[t];
        teams_[t].room.set_most(std::max(least_[t], std::min(rule.teams[t].most_kept, most)));
    }
    for (int m = 0; m < shape_.microbatches; ++m) {
        deliver({.team = shape_.executor_of(0, m), .time = 0, .work = {Op::forward, 0, m}});
    }
}

// Chooses the next instruction of a team. A team without work is called again when some arrives.
void ListScheduler::decide(int team, double now) {
    using enum Work;
    constexpr std::array<std::array<Work, 3>, 3> orders{
        {{backward, forward, weight}, {forward, backward, weight}, {weight, forward, backward}}};
    Team& state = teams_[static_cast<std::size_t>(team)];
    take_in(state, now);
    const Preference preference = rule_->teams[static_cast<std::size_t>(team)].preference;
    for (const Work work : orders[static_cast<std::size_t>(preference)]) {
        if (const std::optional<Instruction> chosen = next(work, team, now)) return execute(team, *chosen);
    }
    state.is_idle = true;
    if (!state.coming.empty()) calls_.emplace(state.coming.top().time, team);
}

void ListScheduler::take_in(Team& team, double now) {
    while (!team.coming.empty() && team.coming.top().time <= now) {
        const auto [op, stage, microbatch, age] = team.coming.top().work;
        Desk& desk = desks_[holdings_.holding_of(holdings_.cell(stage, microbatch))];
        (op == Op::forward ? desk.forwards : desk.backwards).push(microbatch);
        team.coming.pop();
    }
}

std::optional<Instruction> ListScheduler::next(Work work, int team, double now) const {
    switch (work) {
        case Work::forward:
            return next_forward(team);
        case Work::backward:
            return next_backward(team);
        case Work::weight:
            return next_weight(team, now);
    }
    return std::nullopt;
}

std::optional<Instruction> ListScheduler::next_forward(int team) const {
    for (std::size_t h = holdings_.end_of(team); h-- > holdings_.first_of(team);) {
        if (desks_[h].forwards.empty()) continue;
        const Instruction forward{Op::forward, holdings_.all()[h].stage, desks_[h].forwards.top()};
        if (has_room(team, forward)) return forward;
    }
    return std::nullopt;
}

std::optional<Instruction> ListScheduler::next_backward(int team) const {
    std::optional<Instruction> chosen;
    const bool is_whole = rule_->teams[static_cast<std::size_t>(team)].is_whole;
    for (std::size_t h = holdings_.first_of(team); h < holdings_.end_of(team); ++h) {
        if (desks_[h].backwards.empty() || (chosen && !rule_->last_backward_first)) continue;
        const int stage = holdings_.all()[h].stage;
        const bool splits = !is_whole && may_split_[static_cast<std::size_t>(stage)];
        const Instruction backward{splits ? Op::backward_input : Op::backward, stage,
                                   desks_[h].backwards.top()};
        if (splits || !is_read_by_next_stage(team, backward)) chosen = backward;
    }
    return chosen;
}

// True if the next stage of the same team still reads the output of this one, of which there is one copy. Then
// a whole backward has to wait for the weight half of the next stage. (Weight halves follow this order anyway:
// those of later stages are done first.)
bool ListScheduler::is_read_by_next_stage(int team, const Instruction& backward) const {
    const int next = backward.stage + 1;
    return next < shape_.stages() && shape_.executor_of(next, backward.microbatch) == team &&
           !is_given_back_[holdings_.cell(next, backward.microbatch)];
}

std::optional<Instruction> ListScheduler::next_weight(int team, double now) const {
    for (std::size_t h = holdings_.end_of(team); h-- > holdings_.first_of(team);) {
        const Desk& desk = desks_[h];
        if (desk.weights_done == desk.weights.size()) continue;
        const int stage = holdings_.all()[h].stage;
        if (rather_waits(team, stage, now)) return std::nullopt;
        return Instruction{Op::backward_weight, stage, desk.weights[desk.weights_done]};
    }
    return std::nullopt;
}

bool ListScheduler::has_room(int team, const Instruction& forward) const {
    const std::size_t turn = turn_[holdings_.cell(forward.stage, forward.microbatch)];
    return !shape_.is_training || teams_[static_cast<std::size_t>(team)].room.is_safe_for(turn);
}

// True if a weight half should wait for work that arrives soon. A forward without room is not worth waiting
// for.
bool ListScheduler::rather_waits(int team, int stage, double now) const {
    const double patience = rule_->teams[static_cast<std::size_t>(team)].patience;
    const auto& coming = teams_[static_cast<std::size_t>(team)].coming;
    if (patience <= 0 || coming.empty()) return false;
    const auto& [time, work] = coming.top();
    if (work.op == Op::forward && !has_room(team, work)) return false;
    return time - now < patience * costs_[static_cast<std::size_t>(stage)].backward_weight;
}

void ListScheduler::execute(int team, const Instruction& instruction) {
    Team& state = teams_[static_cast<std::size_t>(team)];
    take_from_desk(instruction);
    keep_or_release(state, instruction);
    programs_[static_cast<std::size_t>(team)].push_back(instruction);
    state.is_idle = false;
    deliver(clock_.execute(team, instruction));
    calls_.emplace(clock_.time_of(team), team);
}

void ListScheduler::take_from_desk(const Instruction& instruction) {
    const auto [op, stage, microbatch, age] = instruction;
    Desk& desk = desks_[holdings_.holding_of(holdings_.cell(stage, microbatch))];
    if (op == Op::forward) {
        desk.forwards.pop();
    } else if (op == Op::backward_weight) {
        ++desk.weights_done;
    } else {
        desk.backwards.pop();
        if (op == Op::backward_input) desk.weights.push_back(microbatch);
    }
}

void ListScheduler::keep_or_release(Team& team, const Instruction& instruction) {
    if (!shape_.is_training) return;  // without backwards no activation is kept
    const std::size_t cell = holdings_.cell(instruction.stage, instruction.microbatch);
    if (instruction.op == Op::forward) team.room.keep(turn_[cell]);
    if (instruction.op != Op::backward && instruction.op != Op::backward_weight) return;
    team.room.release(turn_[cell]);
    is_given_back_[cell] = true;
}

void ListScheduler::deliver(const Delivery& delivery) {
    if (delivery.team < 0) return;
    Team& team = teams_[static_cast<std::size_t>(delivery.team)];
    team.coming.push({delivery.time, delivery.work});
    if (team.is_idle) calls_.emplace(delivery.time, delivery.team);
}

}  // namespace trireme::schedule
