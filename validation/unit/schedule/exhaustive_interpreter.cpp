#include "unit/schedule/exhaustive_interpreter.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "unit/schedule/written_programs.hpp"

namespace trireme {
namespace {

using namespace written;

// Says of any state which teams may go on. Wants programs to which there is no objection as they are written.
class Machine {
public:
    Machine(const std::vector<Program>& programs, const PipelineShape& shape, const Positions& positions)
        : programs_(programs), shape_(shape), positions_(positions), rivals_(programs.size()) {
        for (std::size_t team = 0; team < programs.size(); ++team) find_rivals(team);
    }

    bool may_go_on(std::size_t team, const ProgramCounters& counters) const {
        const std::size_t at = counters[team];
        if (at == programs_[team].size()) return false;
        const Instruction& instruction = programs_[team][at];
        const int who = static_cast<int>(team);
        const auto [op, stage, micro_batch] = instruction;
        switch (op) {
            case Op::forward:
                return has_input(instruction, who, counters) && has_free_slot(team, at, counters);
            case Op::backward:
            case Op::backward_input:
                return has_run(counters, who, {Op::forward, stage, micro_batch}) &&
                       has_input(instruction, who, counters) && has_free_slot(team, at, counters);
            case Op::backward_weight:
                return has_run(counters, who, {Op::backward_input, stage, micro_batch});
            case Op::send_forward:
            case Op::send_backward:
                return has_result(counters, who, stage, micro_batch, op == Op::send_forward);
            case Op::receive_forward:
            case Op::receive_backward:
                return has_free_slot(team, at, counters);
            case Op::reduce:
                return has_all_gradients(counters, who, stage);
            case Op::step:
                return has_run(counters, who, {Op::reduce, stage, no_micro_batch}) &&
                       have_all_reduced(counters);
        }
        return false;
    }

private:
    bool has_run(const ProgramCounters& counters, int team, const Instruction& instruction) const {
        return positions_.of(team, instruction) < counters[static_cast<std::size_t>(team)] &&
               positions_.has(team, instruction);
    }

    bool has_result(const ProgramCounters& counters, int team, int stage, int micro_batch, bool forward) const {
        if (forward) return has_run(counters, team, {Op::forward, stage, micro_batch});
        return has_run(counters, team, {Op::backward, stage, micro_batch}) ||
               has_run(counters, team, {Op::backward_input, stage, micro_batch});
    }

    // Of the result of a stage: sent to the neighbouring stage, and the receive posted there.
    bool is_complete(const ProgramCounters& counters, int stage, int micro_batch, bool forward) const {
        const int reader = stage + (forward ? 1 : -1);
        const Op send = forward ? Op::send_forward : Op::send_backward;
        const Op receive = forward ? Op::receive_forward : Op::receive_backward;
        return has_run(counters, shape_.executor_of(stage, micro_batch), {send, stage, micro_batch}) &&
               has_run(counters, shape_.executor_of(reader, micro_batch), {receive, reader, micro_batch});
    }

    // Of a forward: the activations from below; of a backward: the gradients from above.
    bool has_input(const Instruction& instruction, int team, const ProgramCounters& counters) const {
        const bool forward = goes_forward(instruction.op);
        const int maker_stage = instruction.stage - (forward ? 1 : -1);
        if (!has_stage(shape_, maker_stage)) return true;
        if (shape_.executor_of(maker_stage, instruction.micro_batch) == team) {
            return has_result(counters, team, maker_stage, instruction.micro_batch, forward);
        }
        return is_complete(counters, maker_stage, instruction.micro_batch, forward);
    }

    // Whether a result is carried by a message, and so lies in a slot from when it is made.
    bool leaves(const Instruction& instruction, int team) const {
        const bool makes_result = is_compute(instruction.op) && instruction.op != Op::backward_weight;
        const int reader = other_stage(instruction);
        return makes_result && has_stage(shape_, reader) &&
               shape_.executor_of(reader, instruction.micro_batch) != team;
    }

    // The rivals of an instruction that takes a slot are those before it that took one at the same end.
    void find_rivals(std::size_t team) {
        std::map<std::pair<Channel, bool>, std::vector<Instruction>> takers;  // true: at the receiving end
        for (const Instruction& instruction : programs_[team]) {
            auto& rivals = rivals_[team].emplace_back();
            const int who = static_cast<int>(team);
            if (!is_receive(instruction.op) && !leaves(instruction, who)) continue;
            auto& earlier = takers[{channel_of(instruction, who, shape_), is_receive(instruction.op)}];
            rivals = earlier;
            earlier.push_back(instruction);
        }
    }

    bool has_given_back(const Instruction& taker, int team, const ProgramCounters& counters) const {
        const auto [op, stage, micro_batch] = taker;
        if (is_receive(op)) return has_result(counters, team, stage, micro_batch, op == Op::receive_forward);
        return is_complete(counters, stage, micro_batch, op == Op::forward);
    }

    bool has_free_slot(std::size_t team, std::size_t at, const ProgramCounters& counters) const {
        const auto taken = std::count_if(
            rivals_[team][at].begin(), rivals_[team][at].end(),
            [&](const Instruction& rival) { return !has_given_back(rival, static_cast<int>(team), counters); });
        return taken < shape_.slots;
    }

    bool has_all_gradients(const ProgramCounters& counters, int team, int stage) const {
        for (int micro_batch = 0; micro_batch < shape_.micro_batches; ++micro_batch) {
            if (shape_.executor_of(stage, micro_batch) != team) continue;
            if (!has_run(counters, team, {Op::backward, stage, micro_batch}) &&
                !has_run(counters, team, {Op::backward_weight, stage, micro_batch})) {
                return false;
            }
        }
        return true;
    }

    bool have_all_reduced(const ProgramCounters& counters) const {
        for (int stage = 0; stage < shape_.stages(); ++stage) {
            for (const int team : shape_.holders[static_cast<std::size_t>(stage)]) {
                if (!has_run(counters, team, {Op::reduce, stage, no_micro_batch})) return false;
            }
        }
        return true;
    }

    const std::vector<Program>& programs_;
    const PipelineShape& shape_;
    const Positions& positions_;
    std::vector<std::vector<std::vector<Instruction>>> rivals_;  // per team and position
};

// Numbers all program counters, so that those already met are bits.
class StateNumbers {
public:
    explicit StateNumbers(const std::vector<Program>& programs) {
        for (const Program& program : programs) {
            steps_.push_back(count_);
            lengths_.push_back(program.size() + 1);
            count_ *= lengths_.back();
            if (count_ > most_states) throw std::length_error("too many states to explore");
        }
    }
    std::size_t count() const { return count_; }
    std::size_t after(std::size_t state, std::size_t team) const { return state + steps_[team]; }
    void read(std::size_t state, ProgramCounters& counters) const {
        for (std::size_t team = 0; team < steps_.size(); ++team) {
            counters[team] = state / steps_[team] % lengths_[team];
        }
    }

private:
    static constexpr std::size_t most_states = std::size_t{1} << 25;

    std::size_t count_ = 1;
    std::vector<std::size_t> steps_;
    std::vector<std::size_t> lengths_;
};

void visit_all(const std::vector<Program>& programs, const Machine& machine, Exploration& exploration) {
    const StateNumbers numbers(programs);
    std::vector<bool> is_met(numbers.count(), false);
    std::vector<std::size_t> open{0};
    is_met[0] = true;
    ProgramCounters counters(programs.size());
    while (!open.empty()) {
        const std::size_t state = open.back();
        open.pop_back();
        ++exploration.states;
        numbers.read(state, counters);
        bool is_end = true;
        for (std::size_t team = 0; team < programs.size(); ++team) {
            if (!machine.may_go_on(team, counters)) continue;
            is_end = false;
            const std::size_t next = numbers.after(state, team);
            if (!is_met[next]) open.push_back(next);
            is_met[next] = true;
        }
        if (is_end) exploration.ends.push_back(counters);
    }
}

std::string objection_to_ends(const std::vector<Program>& programs, const std::vector<ProgramCounters>& ends) {
    for (const ProgramCounters& counters : ends) {
        std::string stuck;
        for (std::size_t team = 0; team < programs.size(); ++team) {
            if (counters[team] == programs[team].size()) continue;
            stuck += "team " + std::to_string(team) + " is stuck at " +
                     text_of(programs[team][counters[team]]) + "; ";
        }
        if (!stuck.empty()) return stuck;
    }
    return "";
}

void count_activations(const Program& program, const PipelineShape& shape, Exploration& exploration) {
    std::vector<int> kept(static_cast<std::size_t>(shape.stages()), 0);
    std::vector<int> peak_of_stage = kept;
    int peak = 0;
    for (const auto [op, stage, micro_batch] : program) {
        const auto s = static_cast<std::size_t>(stage);
        if (op == Op::forward) ++kept[s];
        peak_of_stage[s] = std::max(peak_of_stage[s], kept[s]);
        peak = std::max(peak, std::accumulate(kept.begin(), kept.end(), 0));
        const bool is_last_use = op == Op::backward || op == Op::backward_weight;
        if (is_last_use || (op == Op::forward && !shape.is_training)) --kept[s];
    }
    exploration.peak_activations.push_back(peak);
    exploration.peak_of_stage.push_back(peak_of_stage);
}

std::string objection_to_memory(const std::vector<int>& peaks, const PipelineShape& shape) {
    for (const int peak : peaks) {
        const bool is_much =
            shape.most_activations != 0 && static_cast<std::size_t>(peak) > shape.most_activations;
        if (is_much) return "a team keeps " + std::to_string(peak) + " micro-batches";
    }
    return "";
}

}  // namespace

Exploration explore(const std::vector<Program>& programs, const PipelineShape& shape) {
    Exploration exploration;
    Positions positions(programs.size(), shape);
    std::string& objection = exploration.objection;
    objection = objection_to_text(programs, shape, positions);
    if (!objection.empty()) return exploration;

    visit_all(programs, Machine(programs, shape, positions), exploration);
    objection = objection_to_ends(programs, exploration.ends);
    for (const Program& program : programs) count_activations(program, shape, exploration);
    if (objection.empty()) objection = objection_to_memory(exploration.peak_activations, shape);
    return exploration;
}

}  // namespace trireme
