#include "schedule/check/program_clock.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace trireme::schedule {
namespace {

bool is_gradient(const Instruction& work) { return work.op != Op::forward; }

}  // namespace

ProgramClock::ProgramClock(const PipelineShape& shape, const StageHoldings& holdings,
                           const std::vector<StageCost>& costs)
    : shape_(shape), holdings_(holdings), costs_(costs), channel_(2 * holdings.cells()) {
    std::map<std::tuple<int, int, bool>, std::size_t> channels;  // by (source, destination, of gradients)
    const auto number = [&](int source, int destination, bool of_gradients) {
        return channels.try_emplace({source, destination, of_gradients}, channels.size()).first->second;
    };
    for (int stage = 0; stage + 1 < shape.stages(); ++stage) {
        for (int m = 0; m < shape.microbatches; ++m) {
            const int before = shape.executor_of(stage, m);
            const int behind = shape.executor_of(stage + 1, m);
            if (before == behind) continue;
            channel_[2 * holdings.cell(stage + 1, m)] = number(before, behind, false);
            channel_[2 * holdings.cell(stage, m) + 1] = number(behind, before, true);
        }
    }
    last_arrival_.resize(channels.size());
    begin_again();
}

void ProgramClock::begin_again() {
    times_.assign(static_cast<std::size_t>(shape_.teams), 0);
    forward_ready_.assign(holdings_.cells(), never);
    backward_ready_.assign(holdings_.cells(), never);
    backward_done_.assign(holdings_.all().size(), 0);
    std::fill(last_arrival_.begin(), last_arrival_.end(), 0);
    std::fill_n(forward_ready_.begin(), shape_.microbatches, 0);
}

double ProgramClock::ready(const Instruction& instruction) const {
    if (instruction.op == Op::backward_weight) return 0;
    const std::size_t cell = holdings_.cell(instruction.stage, instruction.microbatch);
    return is_gradient(instruction) ? backward_ready_[cell] : forward_ready_[cell];
}

Delivery ProgramClock::execute(int team, const Instruction& instruction) {
    double& time = times_[static_cast<std::size_t>(team)];
    time = std::max(time, ready(instruction)) + cost_of(instruction);
    if (instruction.op == Op::backward || instruction.op == Op::backward_weight) {
        backward_done_[holdings_.holding_of(holdings_.cell(instruction.stage, instruction.microbatch))] = time;
    }
    return delivery_of(team, instruction);
}

double ProgramClock::cost_of(const Instruction& instruction) const {
    const StageCost& cost = costs_[static_cast<std::size_t>(instruction.stage)];
    if (instruction.op == Op::forward) return cost.forward;
    if (instruction.op == Op::backward_input) return cost.backward_input;
    if (instruction.op == Op::backward_weight) return cost.backward_weight;
    return cost.backward_input + cost.backward_weight;
}

Delivery ProgramClock::delivery_of(int team, const Instruction& instruction) {
    const auto [op, stage, microbatch, age] = instruction;
    if (op == Op::backward_weight) return {};
    Instruction work{Op::backward, stage - 1, microbatch};
    if (op == Op::forward) {
        const bool is_last = stage + 1 == shape_.stages();
        if (is_last && !shape_.is_training) return {};
        work = is_last ? Instruction{Op::backward, stage, microbatch}
                       : Instruction{Op::forward, stage + 1, microbatch};
    }
    if (work.stage < 0) return {};
    const std::size_t cell = holdings_.cell(work.stage, microbatch);
    const double time = arrival(team, stage, work);
    (is_gradient(work) ? backward_ready_ : forward_ready_)[cell] = time;
    return {holdings_.team_of(cell), time, work};
}

// Messages of a channel do not overtake one another.
double ProgramClock::arrival(int team, int stage, const Instruction& work) {
    const std::size_t cell = holdings_.cell(work.stage, work.microbatch);
    const double made = time_of(team);
    if (holdings_.team_of(cell) == team) return made;
    double& last = last_arrival_[channel_[2 * cell + (is_gradient(work) ? 1 : 0)]];
    last = std::max(last, made + costs_[static_cast<std::size_t>(stage)].send);
    return last;
}

double ProgramClock::end() const {
    if (!shape_.is_training) return *std::max_element(times_.begin(), times_.end());
    const double summed = end_of_sums();
    double end = 0;
    for (int team = 0; team < shape_.teams; ++team) {
        double time = time_of(team);
        for (const Holding& held : holdings_.of(team)) {
            time = std::max(time, summed) + costs_[static_cast<std::size_t>(held.stage)].step;
        }
        end = std::max(end, time);
    }
    return end;
}

// A team reduces its stages from the last to the first: see lower().
double ProgramClock::end_of_sums() const {
    double end = 0;
    for (int team = 0; team < shape_.teams; ++team) {
        double begin = 0;
        for (std::size_t h = holdings_.end_of(team); h > holdings_.first_of(team); --h) {
            const auto stage = static_cast<std::size_t>(holdings_.all()[h - 1].stage);
            begin = std::max(begin, backward_done_[h - 1]);
            end = std::max(end, begin + costs_[stage].reduce);
        }
    }
    return end;
}

double duration_of(const std::vector<Program>& programs, ProgramClock& clock) {
    clock.begin_again();
    std::vector<std::size_t> position(programs.size());
    std::vector<int> woken(programs.size());  // teams that may be able to continue
    std::iota(woken.rbegin(), woken.rend(), 0);
    while (!woken.empty()) {
        const int team = woken.back();
        woken.pop_back();
        const Program& program = programs[static_cast<std::size_t>(team)];
        std::size_t& next = position[static_cast<std::size_t>(team)];
        for (; next < program.size() && clock.ready(program[next]) < never; ++next) {
            const Delivery delivery = clock.execute(team, program[next]);
            if (delivery.team >= 0 && delivery.team != team) woken.push_back(delivery.team);
        }
    }
    for (std::size_t team = 0; team < programs.size(); ++team) {
        if (position[team] < programs[team].size()) return never;
    }
    return clock.end();
}

}  // namespace trireme::schedule
