// Cutting a model's layers into stages by what they cost.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/layout/links.hpp"
#include "trireme/layout/partition.hpp"

namespace trireme::layout {

// What a stage's place in the pipeline adds to the loads of its layers.
struct StagePlace {
    Link onward = {};                      // to the next stage
    std::size_t in_flight = 1;             // micro-batches that it keeps at once, at most
    std::size_t row_buffers = 0;           // for rows on their way to it and from it
    bool recomputes = false;               // keeps inputs alone: see recomputed()
    std::vector<std::size_t> kinds = {0};  // of devices that hold it: which of the loads count
};

struct BalanceRules {
    std::vector<StagePlace> stages;
    std::size_t microbatches = 1;  // of a step, that pass each stage
    std::size_t memory_limit = 0;  // bytes of a stage; 0: none
};

// Throws ConfigError for more stages than layers.
void check_stage_count(std::size_t layers, std::size_t stages);

// The number of layers of each stage, one at least, such that the slowest stage is as fast as any cut makes it
// and no stage needs more than the limit. A stage takes, for a micro-batch, its passes, its share of the
// update, and sending its rows on and their gradient back. Of equal cuts it is one whose longest update, which
// ends the step, is the shortest, and of these the most even one (the smallest sum of squares). Cuts fall
// between any two layers, also inside of a block. Throws ConfigError for more stages than layers, and where
// every cut needs more memory, saying how much.
std::vector<std::size_t> balanced_cuts(const std::vector<LayerLoad>& layers, const BalanceRules& rules);

// Likewise on devices of several kinds, with the loads of all layers on each: a stage takes what it takes on
// the slowest of its own. Rows have as many bytes on all.
std::vector<std::size_t> balanced_cuts(const std::vector<std::vector<LayerLoad>>& kinds,
                                       const BalanceRules& rules);

}  // namespace trireme::layout
