#include "unit/schedule/every_shape.hpp"

#include "trireme/base/error.hpp"
#include "trireme/schedule/check.hpp"
#include "trireme/schedule/lower.hpp"
#include "trireme/schedule/phases.hpp"

namespace trireme::schedule {
namespace {

// Counts up like an odometer of digits 1..3; returns false after the last value.
bool count_up(std::vector<int>& replicas) {
    for (int& digit : replicas) {
        if (++digit <= 3) return true;
        digit = 1;
    }
    return false;
}

}  // namespace

std::string GridSize::text() const {
    return cat("pipe ", pipe, ", chunks ", chunks, ", micro-batches ", microbatches);
}

std::vector<GridSize> list_grids(int min_chunks, int max_chunks) {
    std::vector<GridSize> all;
    for (int pipe = 1; pipe <= 8; ++pipe) {
        for (int chunks = min_chunks; chunks <= max_chunks; ++chunks) {
            for (int microbatches = 1; microbatches <= 24; ++microbatches) {
                all.push_back({pipe, chunks, microbatches});
            }
        }
    }
    return all;
}

std::vector<PipelineShape> list_uneven_shapes(bool is_training) {
    std::vector<PipelineShape> all;
    for (std::size_t stages = 1; stages <= 4; ++stages) {
        std::vector<int> replicas(stages, 1);
        do {
            for (int m = 1; m <= 12; ++m) all.push_back(make_uneven_shape(replicas, m, is_training));
        } while (count_up(replicas));
    }
    return all;
}

std::string describe_uneven_shape(const PipelineShape& shape) {
    std::string text = cat(shape.microbatches, " micro-batches, replicas");
    for (const std::vector<int>& holders : shape.holders) text += cat(' ', holders.size());
    return text;
}

std::vector<std::string> texts_of(const Schedule& kind, const PipelineShape& shape) {
    std::vector<std::string> texts;
    for (const Program& program : generate(kind, shape)) texts.push_back(to_string(program));
    return texts;
}

std::string fault_of(const Schedule& kind, const PipelineShape& shape) {
    const PipelineShape of_one_step = apply_update_rule(kind, shape);
    const Phases compute = generate_phases(kind, of_one_step);
    if (std::string obstacle = find_lowering_obstacle(compute, of_one_step); !obstacle.empty()) return obstacle;
    const Phases phases = lower_phases(compute, of_one_step);
    PipelineShape many = of_one_step;
    many.steps = count_representative_steps(phases, shape.microbatches);
    const Verdict verdict = verify_programs(unroll(phases, of_one_step, many.steps), many);
    return verdict.is_proved() ? "" : verdict.fault->what;
}

int find_min_slots(const Schedule& kind, PipelineShape shape) {
    const std::vector<Program> compute = generate(kind, shape);
    Verdict verdict;
    for (shape.slots = 1; shape.slots <= shape.microbatches * shape.stages(); ++shape.slots) {
        verdict = verify_programs(lower(compute, shape), shape);
        if (verdict.is_proved()) return shape.slots;
    }
    throw BugError(cat("no number of slots is enough: ", verdict.fault->what));
}

}  // namespace trireme::schedule
