#include "unit/schedule/used_weights.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "unit/schedule/written_programs.hpp"

namespace trireme::schedule::written {

std::vector<int> find_used_versions(const Program& program) {
    std::vector<int> used;
    std::map<int, int> updates;  // per stage
    for (const Instruction& instruction : program) {
        if (instruction.op == Op::step) ++updates[instruction.stage];
        const int version = std::max(0, updates[instruction.stage] - instruction.age);
        used.push_back(is_compute(instruction.op) ? version : 0);
    }
    return used;
}

std::string find_weight_objection(const std::vector<Program>& programs, const PipelineShape& shape) {
    // Per micro-batch, and per stage if stages are updated independently.
    std::map<std::pair<int, int>, int> agreed;
    for (const Program& program : programs) {
        const std::vector<int> used = find_used_versions(program);
        for (std::size_t at = 0; at < program.size(); ++at) {
            if (!is_compute(program[at].op) || only_runs_forward(shape, program[at].stage)) continue;
            const int stage = shape.updates_stages_independently ? program[at].stage : 0;
            const int version = agreed.try_emplace({program[at].microbatch, stage}, used[at]).first->second;
            if (version != used[at])
                return to_string(program[at]) + " uses different weights than another pass";
        }
    }
    return "";
}

}  // namespace trireme::schedule::written
