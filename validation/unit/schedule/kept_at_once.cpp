#include "unit/schedule/kept_at_once.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <set>

#include "unit/schedule/used_weights.hpp"
#include "unit/schedule/written_programs.hpp"

namespace trireme::schedule::written {
namespace {

void count_activations(const Program& program, const PipelineShape& shape, Proof& proof) {
    std::vector<int> kept(static_cast<std::size_t>(shape.stages()), 0);
    std::vector<int> peak_activations_of_stage = kept;
    int peak = 0;
    for (const auto [op, stage, microbatch, age, mhz] : program) {
        const auto s = static_cast<std::size_t>(stage);
        if (op == Op::forward) ++kept[s];
        peak_activations_of_stage[s] = std::max(peak_activations_of_stage[s], kept[s]);
        peak = std::max(peak, std::accumulate(kept.begin(), kept.end(), 0));
        const bool is_last_use = op == Op::backward || op == Op::backward_weight;
        if (is_last_use || (op == Op::forward && only_runs_forward(shape, stage))) --kept[s];
    }
    proof.peak_activations.push_back(peak);
    proof.peak_activations_of_stage.push_back(peak_activations_of_stage);
}

// Returns the most steps whose gradients the team holds at once. A step counts from its first backward or
// REDUCE until all trained stages of the team are updated.
int max_gradients(const Program& program, const PipelineShape& shape, int trained_stages) {
    std::set<int> begun;
    std::map<int, int> updates;  // per step
    int peak = 0;
    for (const auto [op, stage, number, age, mhz] : numbered(program)) {
        if (op == Op::backward || op == Op::backward_input) begun.insert(shape.find_step(number));
        if (op == Op::reduce) begun.insert(number);
        if (op == Op::step && ++updates[number] == trained_stages) begun.erase(number);
        if (!begun.empty()) peak = std::max(peak, *begun.rbegin() - *begun.begin() + 1);
    }
    return peak;
}

// Returns the most weight versions of the stage that the team holds at once. Between any two instructions it
// holds the newest version, and older ones that it will still use.
int count_peak_versions(const Program& program, int stage) {
    const std::vector<int> used = find_used_versions(program);
    int newest = 0;
    int peak = 0;
    for (std::size_t begin = 0; begin <= program.size(); ++begin) {
        int oldest = newest;
        for (std::size_t at = begin; at < program.size(); ++at) {
            const bool is_of_stage = is_compute(program[at].op) && program[at].stage == stage;
            if (is_of_stage) oldest = std::min(oldest, used[at]);
        }
        peak = std::max(peak, newest - oldest + 1);
        if (begin < program.size() && program[begin] == Instruction{Op::step, stage}) ++newest;
    }
    return peak;
}

}  // namespace

Proof count_peaks(const std::vector<Program>& programs, const PipelineShape& shape) {
    Proof proof;
    for (int team = 0; team < shape.teams; ++team) {
        const Program& program = programs[static_cast<std::size_t>(team)];
        count_activations(program, shape, proof);
        std::vector<int>& versions = proof.weight_versions.emplace_back();
        int trained_stages = 0;
        for (int stage = 0; stage < shape.stages(); ++stage) {
            trained_stages += shape.is_holder(team, stage) && !only_runs_forward(shape, stage) ? 1 : 0;
            versions.push_back(shape.is_holder(team, stage) ? count_peak_versions(program, stage) : 0);
        }
        proof.peak_gradients.push_back(max_gradients(program, shape, trained_stages));
    }
    return proof;
}

}  // namespace trireme::schedule::written
