// Fits training steps into the memory of the ranks: chooses what each micro-batch recomputes, and how much
// optimizer state is offloaded.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "trireme/policy/recompute.hpp"
#include "trireme/setup/step_bytes.hpp"
#include "trireme/setup/step_costs.hpp"

namespace trireme::setup {

// The memory of one step. The bytes are those of the rank that would exceed its limit the most.
struct StepFit {
    // Per micro-batch; empty if all of them have the recomputation of the plan.
    std::vector<plan::MicrobatchLevels> levels = {};
    std::size_t predicted_bytes = 0;
    std::size_t limit_bytes = 0;       // memory limit of the same rank
    std::size_t deficit_bytes = 0;     // excess over the limit with the recomputation of the plan
    std::size_t recomputed_bytes = 0;  // by which `levels` lower the need
    std::size_t offloaded_bytes = 0;   // optimizer state that is offloaded
    bool offloads_state = false;       // optimizer state of some rank is offloaded
    double offload_seconds = 0;        // by which waits for this state lengthen the step
    // The recomputation of all micro-batches, if steps choose it: see PlanState::step_levels.
    std::optional<plan::Recompute> recompute = {};
};

// The means by which steps are fitted into memory.
struct FitMeans {
    bool may_recompute = true;
    // Per rank: the seconds for one byte in each direction. Empty if no state may be offloaded.
    std::vector<double> offload_seconds_per_byte = {};
};

class StepFitter {
public:
    // Keeps references to the arguments. `limits` has the memory limit of each rank, in bytes.
    StepFitter(const PricedPlan& priced, StepCostPredictor& costs, StepBytes& bytes,
               const std::vector<std::size_t>& limits, FitMeans means = {});

    // Fits a step. `microbatches` has one entry per micro-batch. The reference is valid until the next call.
    // Throws ConfigError if a rank exceeds its limit with all means.
    const StepFit& fit(const std::vector<plan::MicrobatchShape>& microbatches);

private:
    std::vector<policy::TeamOptions> list_options(const std::vector<plan::MicrobatchShape>& microbatches,
                                                  const std::vector<stage::BatchShape>& shapes,
                                                  const std::vector<std::size_t>& teams);
    std::vector<policy::PassOption> list_pass_options(const TeamMemory& team, std::size_t stage_index,
                                                      std::size_t microbatch,
                                                      const plan::MicrobatchShape& counts,
                                                      const stage::BatchShape& shape,
                                                      stage::BackwardPasses passes);

    const PricedPlan& priced_;
    StepCostPredictor& costs_;
    StepBytes& bytes_;
    const std::vector<std::size_t>& limits_;
    FitMeans means_;
    schedule::StepClock clock_;
    std::map<std::vector<plan::MicrobatchShape>, StepFit> known_fits_;  // of recent steps, by their shapes
};

}  // namespace trireme::setup
