#include "schedule/check/program_clock.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace trireme::schedule {
namespace {

bool is_backward(const Instruction& work) { return work.op != Op::forward; }

}  // namespace

ProgramClock::ProgramClock(const PipelineShape& shape, const StageHoldings& holdings, StepCosts costs)
    : shape_(shape),
      holdings_(holdings),
      costs_(std::move(costs)),
      channel_of_input_(2 * holdings.count_passes()) {
    std::map<std::tuple<int, int, bool>, std::size_t> channels;  // by (source, destination, is_gradient)
    const auto find_or_add_channel = [&](int source, int destination, bool is_gradient) {
        return channels.try_emplace({source, destination, is_gradient}, channels.size()).first->second;
    };
    for (int stage = 0; stage + 1 < shape.stages(); ++stage) {
        for (int m = 0; m < shape.microbatches; ++m) {
            const int sender = shape.find_executor(stage, m);
            const int receiver = shape.find_executor(stage + 1, m);
            if (sender == receiver) continue;
            channel_of_input_[2 * holdings.pass_index(stage + 1, m)] =
                find_or_add_channel(sender, receiver, false);
            channel_of_input_[2 * holdings.pass_index(stage, m) + 1] =
                find_or_add_channel(receiver, sender, true);
        }
    }
    last_arrival_times_.resize(channels.size());
    reset();
}

void ProgramClock::reset() {
    free_times_.assign(static_cast<std::size_t>(shape_.teams), 0);
    state_return_times_ = free_times_;
    forward_ready_times_.assign(holdings_.count_passes(), never);
    backward_ready_times_.assign(holdings_.count_passes(), never);
    backward_end_times_.assign(holdings_.all_holdings().size(), 0);
    std::fill(last_arrival_times_.begin(), last_arrival_times_.end(), 0);
    // The forwards of stage 0 read no activation. The passes of stage 0 have the first indices.
    std::fill_n(forward_ready_times_.begin(), shape_.microbatches, 0);
}

double ProgramClock::find_ready_time(const Instruction& instruction) const {
    if (instruction.op == Op::backward_weight) return 0;
    const std::size_t pass = holdings_.pass_index(instruction.stage, instruction.microbatch);
    return is_backward(instruction) ? backward_ready_times_[pass] : forward_ready_times_[pass];
}

Delivery ProgramClock::execute(int team, const Instruction& instruction) {
    const auto t = static_cast<std::size_t>(team);
    double& time = free_times_[t];
    time = std::max(time, find_ready_time(instruction));
    const bool waits_for_state = t < offloads_.size();
    if (waits_for_state) time = std::max(time, offloads_[t].find_begin(instruction));
    time += costs_.find(instruction.stage, instruction.microbatch).find_time(instruction.op);
    if (waits_for_state)
        state_return_times_[t] = std::max(state_return_times_[t], time + offloads_[t].find_return(instruction));
    if (instruction.op == Op::backward || instruction.op == Op::backward_weight) {
        backward_end_times_[holdings_.find_holding(
            holdings_.pass_index(instruction.stage, instruction.microbatch))] = time;
    }
    return deliver_result(team, instruction);
}

// Records the arrival of the result at the instruction that reads it. Returns an empty Delivery if no
// instruction reads it.
Delivery ProgramClock::deliver_result(int team, const Instruction& instruction) {
    const auto [op, stage, microbatch, age, mhz] = instruction;
    if (op == Op::backward_weight) return {};
    Instruction work{Op::backward, stage - 1, microbatch};
    if (op == Op::forward) {
        const bool is_last = stage + 1 == shape_.stages();
        if (is_last && !shape_.is_training) return {};
        work = is_last ? Instruction{Op::backward, stage, microbatch}
                       : Instruction{Op::forward, stage + 1, microbatch};
    }
    if (is_backward(work) && !shape_.trains(work.stage)) return {};
    const std::size_t pass = holdings_.pass_index(work.stage, microbatch);
    const double time = compute_arrival_time(team, stage, work);
    (is_backward(work) ? backward_ready_times_ : forward_ready_times_)[pass] = time;
    return {holdings_.find_team(pass), time, work};
}

// Returns the time at which the result that `team` has just computed in `stage` arrives at `work`. A message
// never arrives before the previous message of its channel.
double ProgramClock::compute_arrival_time(int team, int stage, const Instruction& work) {
    const std::size_t pass = holdings_.pass_index(work.stage, work.microbatch);
    const double computed_time = find_free_time(team);
    if (holdings_.find_team(pass) == team) return computed_time;
    double& last_arrival_time = last_arrival_times_[channel_of_input_[2 * pass + (is_backward(work) ? 1 : 0)]];
    last_arrival_time = std::max(last_arrival_time, computed_time + costs_.find(stage, work.microbatch).send);
    return last_arrival_time;
}

double ProgramClock::compute_end() const {
    if (!shape_.is_training) return *std::max_element(free_times_.begin(), free_times_.end());
    const double reductions_end = compute_reductions_end();
    double end = 0;
    for (int team = 0; team < shape_.teams; ++team) {
        const auto t = static_cast<std::size_t>(team);
        double time = std::max(find_free_time(team), state_return_times_[t]);
        if (t < offloads_.size()) time = std::max(time, offloads_[t].update);
        for (const Holding& holding : holdings_.find_team_holdings(team)) {
            if (!shape_.trains(holding.stage)) continue;
            time = std::max(time, reductions_end) + costs_.find(holding.stage, 0).step;
        }
        end = std::max(end, time);
    }
    return end;
}

// Returns the end of the last reduction of all teams. A team reduces its stages from the last to the first: see
// lower(). The reductions of a team may overlap, because a REDUCE only starts a reduction.
double ProgramClock::compute_reductions_end() const {
    double end = 0;
    for (int team = 0; team < shape_.teams; ++team) {
        double begin = 0;
        for (std::size_t end_index = holdings_.end_index(team); end_index > holdings_.first_index(team);
             --end_index) {
            const std::size_t holding = end_index - 1;
            const int stage = holdings_.all_holdings()[holding].stage;
            if (!shape_.trains(stage)) continue;
            begin = std::max(begin, backward_end_times_[holding]);
            end = std::max(end, begin + costs_.find(stage, 0).reduce);
        }
    }
    return end;
}

double compute_duration(const std::vector<Program>& programs, ProgramClock& clock) {
    clock.reset();
    std::vector<std::size_t> next_positions(programs.size());
    std::vector<int> runnable_teams(programs.size());  // teams that may be able to continue
    std::iota(runnable_teams.rbegin(), runnable_teams.rend(), 0);
    while (!runnable_teams.empty()) {
        const int team = runnable_teams.back();
        runnable_teams.pop_back();
        const Program& program = programs[static_cast<std::size_t>(team)];
        std::size_t& next = next_positions[static_cast<std::size_t>(team)];
        for (; next < program.size() && clock.find_ready_time(program[next]) < never; ++next) {
            const Delivery delivery = clock.execute(team, program[next]);
            if (delivery.team >= 0 && delivery.team != team) runnable_teams.push_back(delivery.team);
        }
    }
    for (std::size_t team = 0; team < programs.size(); ++team) {
        if (next_positions[team] < programs[team].size()) return never;
    }
    return clock.compute_end();
}

}  // namespace trireme::schedule
