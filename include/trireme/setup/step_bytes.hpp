// Predicts the memory of single training steps from the shapes of their micro-batches.
#pragma once

#include <memory>
#include <vector>

#include "trireme/plan/stage_work.hpp"
#include "trireme/setup/memory_prediction.hpp"

namespace trireme::setup {

class StepBytes {
public:
    // Keeps references to the members of `sized_plan`. The other arguments are those of
    // predict_memory_of_ranks().
    StepBytes(const SizedPlan& sized_plan, const optim::OptimizerConfig& optimizer,
              const stage::GradientPlan& gradients, int ranks, bool saves_checkpoints);
    ~StepBytes();

    // Returns the bytes of a step on the rank that needs the most. `microbatches` has one entry per micro-batch
    // of the step; an empty micro-batch has 0 rows.
    std::size_t predict_max_bytes(const std::vector<plan::MicrobatchShape>& microbatches);

private:
    struct RankClassMemory;

    const plan::Plan& plan_;
    std::vector<RankClassMemory> classes_;
    // The last step whose bytes were predicted. Steps of equal shapes need equal memory.
    std::vector<plan::MicrobatchShape> known_step_;
    std::size_t known_bytes_ = 0;
};

}  // namespace trireme::setup
