// The expected results of a training that keeps micro-batches in flight across steps, computed by formula on
// one rank without a schedule.
//
//   W(t+1) = update(W(t), gradient of step t at weights of which stage s lacks the last delays[s] updates)
//
// Steps count from the last evaluation, which drains the pipeline: weights are never older than at that point.
#pragma once

#include <cstddef>
#include <vector>

#include "equivalence/figures.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::equivalence {

struct ReplayRule {
    std::vector<std::size_t> delays;  // per stage: number of updates that its weights lack
    bool clips_per_stage = false;     // clips each stage by its own norm instead of the global one
};

struct Replayed {
    Figures figures;
    std::size_t updates = 0;  // of the model, or of its stages if each is clipped by its own norm
    std::size_t clipped = 0;  // number of these that were clipped
};

// Trains from random weights. `setup` may be for any number of ranks: only the micro-batches of a step and the
// layers of each stage of its plan matter.
Replayed replay(const setup::Setup& setup, const ReplayRule& rule);

}  // namespace trireme::equivalence
