// Predicts the memory of single training steps from the shapes of their micro-batches.
#pragma once

#include <map>
#include <vector>

#include "trireme/plan/stage_work.hpp"
#include "trireme/setup/memory_prediction.hpp"
#include "trireme/stage/step_memory.hpp"

namespace trireme::setup {

// The memory of the ranks of a team in training steps.
struct TeamMemory {
    struct Rank {
        int rank = 0;
        std::size_t class_index = 0;        // index of the rank's class: see find_rank_classes()
        std::size_t constant_bytes = 0;     // all memory but the buffers of a step
        std::size_t max_step_bytes = 0;     // buffers of any step, if all optimizer state is in memory
        std::size_t offloadable_bytes = 0;  // optimizer state that may be offloaded
    };
    int team = 0;
    schedule::Program program;  // for one step
    std::vector<Rank> ranks;    // in the order of the team
};

class StepBytes {
public:
    // Keeps a reference to the plan of `sized_plan`. The other arguments are those of
    // predict_memory_of_ranks().
    StepBytes(const SizedPlan& sized_plan, const optim::OptimizerConfig& optimizer,
              const stage::GradientPlan& gradients, int ranks, bool saves_checkpoints);
    // Same, with the result `memories` of predict_memory_of_ranks().
    StepBytes(const SizedPlan& sized_plan, const std::vector<RankMemory>& memories);

    // Returns the bytes of a step by team and rank of the team. `microbatches` has one entry per micro-batch of
    // the step; an empty micro-batch has 0 rows. `levels` is that of stage::StepWork.
    std::vector<std::vector<std::size_t>> predict_bytes(const std::vector<plan::MicrobatchShape>& microbatches,
                                                        const std::vector<plan::MicrobatchLevels>& levels = {});
    // True if no rank exceeds its limit with the recomputation of the plan. `limits` has the bytes of each
    // rank. Takes less time than predict_bytes().
    bool fit(const std::vector<plan::MicrobatchShape>& microbatches, const std::vector<std::size_t>& limits);
    // Returns the bytes of a step on the rank that needs the most.
    std::size_t predict_max_bytes(const std::vector<plan::MicrobatchShape>& microbatches,
                                  const std::vector<plan::MicrobatchLevels>& levels = {});

    const std::vector<TeamMemory>& teams() const { return teams_; }
    // Returns the planner for the ranks of a class.
    stage::StepMemoryPlanner& find_planner(std::size_t class_index) { return classes_[class_index].planner; }

private:
    struct ClassMemory {
        stage::StepMemoryPlanner planner;
        // The bytes of the buffers in a step, by the rows and samples of the micro-batches that a team
        // executes. Contains only the step whose bytes are being predicted.
        std::map<std::vector<std::size_t>, std::size_t> known_bytes = {};
    };

    const plan::Plan& plan_;
    std::vector<ClassMemory> classes_;
    std::vector<TeamMemory> teams_;
    // The last step whose bytes were predicted. Steps of equal shapes need equal memory.
    std::vector<plan::MicrobatchShape> known_step_;
    std::vector<plan::MicrobatchLevels> known_levels_;
    std::size_t known_bytes_ = 0;
};

// Returns a shape with equal counts. The memory of a pass depends on the number of samples, not on their
// lengths.
stage::BatchShape make_any_shape(const plan::MicrobatchShape& counts);

}  // namespace trireme::setup
