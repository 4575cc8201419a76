#include "trireme/setup/step_bytes.hpp"

#include <algorithm>

#include "trireme/setup/rank_classes.hpp"

namespace trireme::setup {
namespace {

// Returns a shape with equal counts. The memory of a pass depends on the number of samples, not on their
// lengths.
stage::BatchShape make_any_shape(const plan::MicrobatchShape& counts) {
    stage::BatchShape shape{.segments = {}, .rows = counts.rows, .predicted_rows = counts.predicted_rows};
    for (std::size_t s = 0; s < counts.samples; ++s) {
        const std::size_t begin = counts.rows * s / counts.samples;
        shape.segments.push_back({.begin = begin, .length = counts.rows * (s + 1) / counts.samples - begin});
    }
    return shape;
}

}  // namespace

// Ranks of a class differ only in the memory for the shards that they own.
struct StepBytes::RankClassMemory {
    stage::LocalWork work;
    stage::StepMemoryPlanner planner;
    schedule::Program program;       // of the team, for one step
    std::size_t constant_bytes = 0;  // of the rank that needs the most: all memory but the buffers of a step
};

StepBytes::StepBytes(const SizedPlan& sized_plan, const optim::OptimizerConfig& optimizer,
                     const stage::GradientPlan& gradients, int ranks, bool saves_checkpoints)
    : plan_(sized_plan.plan) {
    const plan::ProvedPrograms& training = plan_.training;
    const std::vector<RankMemory> memories =
        predict_memory_of_ranks(sized_plan, &optimizer, gradients, ranks, saves_checkpoints);
    for (const RankClass& rank_class : find_rank_classes(plan_)) {
        stage::LocalWork work = make_local_work(sized_plan, rank_class.ranks.front());
        limit_step_memory(sized_plan, work);
        std::size_t constant_bytes = 0;
        for (const int rank : rank_class.ranks) {
            const RankMemory& memory = memories[static_cast<std::size_t>(rank)];
            constant_bytes = std::max(constant_bytes, memory.total() - work.max_step_bytes);
        }
        classes_.push_back({.work = work,
                            .planner = stage::StepMemoryPlanner(work),
                            .program = training.unroll_program(work.team, 1),
                            .constant_bytes = constant_bytes});
    }
}

StepBytes::~StepBytes() = default;

std::size_t StepBytes::predict_max_bytes(const std::vector<plan::MicrobatchShape>& microbatches) {
    if (microbatches == known_step_) return known_bytes_;
    std::vector<stage::BatchShape> shapes;
    for (const plan::MicrobatchShape& counts : microbatches) shapes.push_back(make_any_shape(counts));
    std::size_t max_bytes = 0;
    for (RankClassMemory& each : classes_) {
        const std::size_t step_bytes =
            each.work.equal_buffers ? each.work.max_step_bytes
                                    : each.planner.plan_step(each.program, plan_.training.shape, shapes).bytes;
        max_bytes = std::max(max_bytes, each.constant_bytes + step_bytes);
    }
    known_step_ = microbatches;
    return known_bytes_ = max_bytes;
}

}  // namespace trireme::setup
