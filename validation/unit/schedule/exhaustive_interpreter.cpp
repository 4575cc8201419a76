#include "unit/schedule/exhaustive_interpreter.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <utility>

#include "unit/schedule/kept_at_once.hpp"
#include "unit/schedule/used_weights.hpp"
#include "unit/schedule/written_programs.hpp"

namespace trireme::schedule {
namespace {

using namespace written;

// Says for any state which teams may advance. Requires numbered programs that have no fault as they are
// written.
class Machine {
public:
    Machine(const std::vector<Program>& programs, const PipelineShape& shape, const Positions& positions)
        : programs_(programs), shape_(shape), positions_(positions), rivals_(programs.size()) {
        for (std::size_t team = 0; team < programs.size(); ++team) find_rivals(team);
    }

    bool may_advance(std::size_t team, const ProgramCounters& counters) const {
        const std::size_t at = counters[team];
        if (at == programs_[team].size()) return false;
        const Instruction& instruction = programs_[team][at];
        const int who = static_cast<int>(team);
        const auto [op, stage, microbatch, age, mhz] = instruction;
        switch (op) {
            case Op::forward:
                return has_input(instruction, who, counters) && has_free_slot(team, at, counters);
            case Op::backward:
            case Op::backward_input:
                return has_run(counters, who, {Op::forward, stage, microbatch}) &&
                       has_input(instruction, who, counters) && has_free_slot(team, at, counters) &&
                       (op == Op::backward_input || is_read(counters, who, stage, microbatch));
            case Op::backward_weight:
                return has_run(counters, who, {Op::backward_input, stage, microbatch}) &&
                       is_read(counters, who, stage, microbatch);
            case Op::send_forward:
            case Op::send_backward:
                return has_result(counters, who, stage, microbatch, op == Op::send_forward);
            case Op::receive_forward:
            case Op::receive_backward:
                return has_free_slot(team, at, counters);
            case Op::reduce:
                return has_all_gradients(counters, who, stage, microbatch);
            case Op::step:
                return has_run(counters, who, {Op::reduce, stage, microbatch}) &&
                       are_summed(counters, stage, microbatch);
            case Op::validate:
                return has_run(counters, who, {Op::step, stage, microbatch}) &&
                       is_norm_known(counters, microbatch);
            case Op::set_clock:
                return true;
        }
        return false;
    }

private:
    bool has_run(const ProgramCounters& counters, int team, const Instruction& instruction) const {
        return positions_.of(team, instruction) < counters[static_cast<std::size_t>(team)] &&
               positions_.has(team, instruction);
    }

    bool has_result(const ProgramCounters& counters, int team, int stage, int microbatch, bool forward) const {
        if (forward) return has_run(counters, team, {Op::forward, stage, microbatch});
        return has_run(counters, team, {Op::backward, stage, microbatch}) ||
               has_run(counters, team, {Op::backward_input, stage, microbatch});
    }

    // True if no backward of the next stage still has to read what `stage` keeps. It reads it only if the same
    // team executes both stages.
    bool is_read(const ProgramCounters& counters, int team, int stage, int microbatch) const {
        if (!has_stage(shape_, stage + 1) || shape_.find_executor(stage + 1, microbatch) != team) return true;
        return has_run(counters, team, {Op::backward, stage + 1, microbatch}) ||
               has_run(counters, team, {Op::backward_weight, stage + 1, microbatch});
    }

    // True if the result of the stage has been sent to the neighbouring stage and the receive is posted there.
    bool is_complete(const ProgramCounters& counters, int stage, int microbatch, bool forward) const {
        const int reader = stage + (forward ? 1 : -1);
        const Op send = forward ? Op::send_forward : Op::send_backward;
        const Op receive = forward ? Op::receive_forward : Op::receive_backward;
        return has_run(counters, shape_.find_executor(stage, microbatch), {send, stage, microbatch}) &&
               has_run(counters, shape_.find_executor(reader, microbatch), {receive, reader, microbatch});
    }

    // True if the input is there: activations of the stage below for a forward, gradients of the stage above
    // for a backward.
    bool has_input(const Instruction& instruction, int team, const ProgramCounters& counters) const {
        const bool forward = is_forward_direction(instruction.op);
        const int maker_stage = instruction.stage - (forward ? 1 : -1);
        if (!has_stage(shape_, maker_stage)) return true;
        if (shape_.find_executor(maker_stage, instruction.microbatch) == team) {
            return has_result(counters, team, maker_stage, instruction.microbatch, forward);
        }
        return is_complete(counters, maker_stage, instruction.microbatch, forward);
    }

    // True if a message carries the result, which then occupies a slot from the moment it is computed.
    bool leaves(const Instruction& instruction, int team) const {
        const bool makes_result = is_compute(instruction.op) && instruction.op != Op::backward_weight;
        const int reader = other_stage(instruction);
        const bool has_reader = instruction.op == Op::forward || !only_runs_forward(shape_, reader);
        return makes_result && has_stage(shape_, reader) && has_reader &&
               shape_.find_executor(reader, instruction.microbatch) != team;
    }

    // The rivals of an instruction that takes a slot are the earlier instructions that took one at the same
    // end.
    void find_rivals(std::size_t team) {
        std::map<std::pair<Channel, bool>, std::vector<Instruction>> takers;  // true: at the receiving end
        for (const Instruction& instruction : programs_[team]) {
            auto& rivals = rivals_[team].emplace_back();
            const int who = static_cast<int>(team);
            if (!is_receive(instruction.op) && !leaves(instruction, who)) continue;
            auto& earlier = takers[{find_channel(instruction, who, shape_), is_receive(instruction.op)}];
            rivals = earlier;
            earlier.push_back(instruction);
        }
    }

    bool has_freed_slot(const Instruction& taker, int team, const ProgramCounters& counters) const {
        const auto [op, stage, microbatch, age, mhz] = taker;
        if (is_receive(op)) return has_result(counters, team, stage, microbatch, op == Op::receive_forward);
        return is_complete(counters, stage, microbatch, op == Op::forward);
    }

    bool has_free_slot(std::size_t team, std::size_t at, const ProgramCounters& counters) const {
        const auto taken = std::count_if(
            rivals_[team][at].begin(), rivals_[team][at].end(),
            [&](const Instruction& rival) { return !has_freed_slot(rival, static_cast<int>(team), counters); });
        return taken < shape_.slots;
    }

    bool has_all_gradients(const ProgramCounters& counters, int team, int stage, int step) const {
        const int first = step * shape_.microbatches;
        for (int microbatch = first; microbatch < first + shape_.microbatches; ++microbatch) {
            if (shape_.find_executor(stage, microbatch) != team) continue;
            if (!has_run(counters, team, {Op::backward, stage, microbatch}) &&
                !has_run(counters, team, {Op::backward_weight, stage, microbatch})) {
                return false;
            }
        }
        return true;
    }

    // True if an update of `updated_stage` waits for the gradients of `stage`.
    bool waits_for(int updated_stage, int stage) const {
        if (stage == updated_stage || (!shape_.updates_stages_independently && !shape_.has_speculative_updates))
            return true;
        const int last = shape_.stages() - 1;
        return shape_.has_speculative_updates && shape_.has_tied_embeddings &&
               std::abs(stage - updated_stage) == last;
    }

    bool is_norm_known(const ProgramCounters& counters, int step) const {
        for (int stage = 0; stage < shape_.stages(); ++stage) {
            for (const int team : shape_.holders[static_cast<std::size_t>(stage)]) {
                if (!has_run(counters, team, {Op::reduce, stage, step})) return false;
            }
        }
        return true;
    }

    // True if all that an update of the stage waits for is done: the holders have reduced and reached a STEP.
    bool are_summed(const ProgramCounters& counters, int updated_stage, int step) const {
        for (int stage = 0; stage < shape_.stages(); ++stage) {
            if (!waits_for(updated_stage, stage) || only_runs_forward(shape_, stage)) continue;
            for (const int team : shape_.holders[static_cast<std::size_t>(stage)]) {
                if (!has_run(counters, team, {Op::reduce, stage, step})) return false;
                if (!has_reached_step(counters, team, updated_stage, step)) return false;
            }
        }
        return true;
    }

    // True if the team has reached one of its STEPs of the step; the STEP of the stage itself if stages are
    // updated independently.
    bool has_reached_step(const ProgramCounters& counters, int team, int updated_stage, int step) const {
        for (int stage = 0; stage < shape_.stages(); ++stage) {
            if (shape_.updates_stages_independently && stage != updated_stage) continue;
            const std::size_t position = positions_.of(team, {Op::step, stage, step});
            if (position <= counters[static_cast<std::size_t>(team)]) return true;
        }
        return false;
    }

    const std::vector<Program>& programs_;
    const PipelineShape& shape_;
    const Positions& positions_;
    std::vector<std::vector<std::vector<Instruction>>> rivals_;  // per team and position
};

// Numbers all combinations of program counters, so that one bit marks each one already met.
class StateNumbers {
public:
    explicit StateNumbers(const std::vector<Program>& programs) {
        for (const Program& program : programs) {
            steps_.push_back(count_);
            lengths_.push_back(program.size() + 1);
            count_ *= lengths_.back();
            if (count_ > max_states) throw std::length_error("too many states to explore");
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
    static constexpr std::size_t max_states = std::size_t{1} << 25;

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
            if (!machine.may_advance(team, counters)) continue;
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
                     to_string(programs[team][counters[team]]) + "; ";
        }
        if (!stuck.empty()) return stuck;
    }
    return "";
}

std::string objection_to_memory(const std::vector<int>& peaks, const PipelineShape& shape) {
    for (std::size_t team = 0; team < shape.max_activations.size(); ++team) {
        if (peaks[team] <= shape.max_activations[team]) continue;
        return "a team keeps " + std::to_string(peaks[team]) + " micro-batches";
    }
    return "";
}

}  // namespace

Exploration explore(const std::vector<Program>& programs, const PipelineShape& shape) {
    Exploration exploration;
    Positions positions(programs.size(), shape);
    std::string& objection = exploration.objection;
    objection = find_static_objection(programs, shape, positions);
    if (objection.empty()) objection = find_weight_objection(programs, shape);
    if (!objection.empty()) return exploration;

    std::vector<Program> with_numbers;
    for (const Program& program : programs) with_numbers.push_back(numbered(program));
    visit_all(with_numbers, Machine(with_numbers, shape, positions), exploration);
    objection = objection_to_ends(programs, exploration.ends);
    exploration.proof = count_peaks(programs, shape);
    if (objection.empty()) objection = objection_to_memory(exploration.proof.peak_activations, shape);
    return exploration;
}

}  // namespace trireme::schedule
