// Cuts a model's layers into stages of balanced cost.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/layout/links.hpp"
#include "trireme/layout/partition.hpp"

namespace trireme::layout {

// Costs that a stage's position in the pipeline adds to the loads of its layers.
struct StagePosition {
    Link link_to_next = {};       // link to the next stage
    std::size_t in_flight = 1;    // maximum number of in-flight micro-batches
    std::size_t row_buffers = 0;  // number of buffers for the rows of messages between stages
    bool recomputes = false;      // the stage runs with full recomputation: see add_full_recomputation()
    std::vector<std::size_t> kinds = {0};  // kinds of the devices that hold the stage: see find_balanced_cuts()
};

struct BalanceRules {
    std::vector<StagePosition> stages;
    std::size_t microbatches = 1;  // micro-batches per step that pass each stage
    std::size_t memory_limit = 0;  // bytes per stage; 0 means no limit
};

// Throws ConfigError if there are more stages than layers.
void check_stage_count(std::size_t layers, std::size_t stages);

// Returns the number of layers of each stage, at least one. Minimizes the time per micro-batch of the slowest
// stage such that no stage exceeds the memory limit. The time of a stage consists of its passes, 1 /
// `microbatches` of its update, and the messages that it sends: output rows to the next stage, gradients to the
// previous one. Among equally fast cuts, minimizes the longest update, which ends the step, and then the sum of
// squared stage times. Cuts may fall between any two layers, also inside a block. Throws ConfigError if there
// are more stages than layers, or if every cut exceeds the memory limit; the error states the smallest memory
// limit that would suffice.
std::vector<std::size_t> find_balanced_cuts(const std::vector<LayerLoad>& layers, const BalanceRules& rules);

// Finds cuts for several kinds of devices. `kinds` has the loads of all layers per kind, with equal
// `row_bytes`. StagePosition::kinds has indices in `kinds`; the time and the memory of a stage are each the
// maximum over the kinds that hold the stage.
std::vector<std::size_t> find_balanced_cuts(const std::vector<std::vector<LayerLoad>>& kinds,
                                            const BalanceRules& rules);

}  // namespace trireme::layout
