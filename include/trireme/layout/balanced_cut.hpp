// Cuts a model's layers into stages of balanced cost.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/layout/links.hpp"
#include "trireme/layout/partition.hpp"

namespace trireme::layout {

// The properties of a stage that determine its costs, in addition to the loads of its layers.
struct StageProperties {
    Link link_to_next = {};       // link to the next stage; ignored for the last stage
    std::size_t in_flight = 1;    // maximum number of in-flight micro-batches
    std::size_t row_buffers = 0;  // number of message buffers for activations and gradients
    bool recomputes = false;      // the stage runs with full recomputation: see add_full_recomputation()
    // Kinds of the stage's devices, as indices into the `kinds` of find_balanced_cuts().
    std::vector<std::size_t> kinds = {0};
};

struct BalanceRules {
    std::vector<StageProperties> stages;
    std::size_t microbatches = 1;  // number of micro-batches per step and replica
    std::size_t memory_limit = 0;  // bytes per stage on each rank; 0 means no limit
};

// Throws ConfigError if there is no stage, or if there are more stages than layers.
void check_stage_count(std::size_t layers, std::size_t stages);

// Returns the number of layers of each stage, at least one. The cut minimizes the time per micro-batch of the
// slowest stage, under the condition that no stage exceeds the memory limit. The time of a stage consists of
// its passes, the fraction 1 / `microbatches` of its update, and the messages that it sends: output rows to the
// next stage, gradients to the previous stage. The memory of a stage consists of its state and workspace, the
// stashes of `in_flight` micro-batches, and `row_buffers` buffers. A buffer has the size of the stage's input
// rows or output rows, whichever are larger.
//
// Among equally fast cuts, the function minimizes the time of the longest update, because this update ends the
// step. Among cuts that are then still equal, it minimizes the sum of squared stage times. A cut may fall
// between any two layers, even inside a block. Throws ConfigError if check_stage_count() does. Throws
// ConfigError if every cut exceeds the memory limit; the message states the smallest limit that would suffice.
std::vector<std::size_t> find_balanced_cuts(const std::vector<LayerLoad>& layers, const BalanceRules& rules);

// Finds cuts for several kinds of devices. kinds[k][l] is the load of layer l on a device of kind k. The
// `row_bytes` of a layer is equal for all k. StageProperties::kinds has indices into `kinds`. The time and the
// memory of a stage are each the maximum over the kinds of its devices.
std::vector<std::size_t> find_balanced_cuts(const std::vector<std::vector<LayerLoad>>& kinds,
                                            const BalanceRules& rules);

}  // namespace trireme::layout
