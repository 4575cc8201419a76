// Cuts a model's layers into stages of balanced cost.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/layout/links.hpp"
#include "trireme/layout/partition.hpp"

namespace trireme::layout {

// Costs that a stage's position in the pipeline adds to the loads of its layers.
struct StagePlace {
    Link onward = {};                      // link to the next stage
    std::size_t in_flight = 1;             // maximum number of in-flight micro-batches
    std::size_t row_buffers = 0;           // number of buffers for rows sent and received
    bool recomputes = false;               // the stage runs with full recomputation: see recomputed()
    std::vector<std::size_t> kinds = {0};  // device kinds that hold the stage, as indices of the loads
};

struct BalanceRules {
    std::vector<StagePlace> stages;
    std::size_t microbatches = 1;  // micro-batches per step that pass each stage
    std::size_t memory_limit = 0;  // bytes per stage; 0 means no limit
};

// Throws ConfigError if there are more stages than layers.
void check_stage_count(std::size_t layers, std::size_t stages);

// Returns the number of layers of each stage, at least one. The cut minimizes the time of the slowest stage,
// and no stage exceeds the memory limit. Per micro-batch, a stage spends time on its passes, on its fraction of
// the update, and on sending rows onward and gradients back. Among equally fast cuts it minimizes the longest
// update, which ends the step, and then the sum of squared stage times. Cuts may fall between any two layers,
// also inside a block. Throws ConfigError if there are more stages than layers, or if every cut exceeds the
// limit; the message says by how much.
std::vector<std::size_t> balanced_cuts(const std::vector<LayerLoad>& layers, const BalanceRules& rules);

// The same for several kinds of devices; `kinds` has the loads of all layers per kind. A stage is as slow as
// the slowest of its kinds. Row sizes are equal on all kinds.
std::vector<std::size_t> balanced_cuts(const std::vector<std::vector<LayerLoad>>& kinds,
                                       const BalanceRules& rules);

}  // namespace trireme::layout
