#include "unit/schedule/used_weights.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace trireme::schedule::written {

std::vector<int> weights_used(const Program& program) {
    std::vector<int> used;
    std::map<int, int> updates;  // per stage
    for (const Instruction& instruction : program) {
        if (instruction.op == Op::step) ++updates[instruction.stage];
        const int version = std::max(0, updates[instruction.stage] - instruction.age);
        used.push_back(is_compute(instruction.op) ? version : 0);
    }
    return used;
}

std::string objection_to_weights(const std::vector<Program>& programs, const PipelineShape& shape) {
    std::map<std::pair<int, int>, int> agreed;  // per micro-batch, and per stage if stages are updated alone
    for (const Program& program : programs) {
        const std::vector<int> used = weights_used(program);
        for (std::size_t at = 0; at < program.size(); ++at) {
            if (!is_compute(program[at].op)) continue;
            const int stage = shape.updates_alone ? program[at].stage : 0;
            const int version = agreed.try_emplace({program[at].microbatch, stage}, used[at]).first->second;
            if (version != used[at]) return to_string(program[at]) + " uses other weights than another pass";
        }
    }
    return "";
}

}  // namespace trireme::schedule::written
