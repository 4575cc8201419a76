// Cuts a model's layers into stages, and defines what layers cost.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trireme/layout/box.hpp"

namespace trireme::layout {

// Facts about a layer that decide where to cut. gpt2 has 27 layers: embedding, 12 times attention and MLP,
// norm, head. They belong to 14 items: embedding, 12 blocks, head (with the norm).
struct LayerFacts {
    std::size_t item = 0;        // index of the item to which the layer belongs
    std::size_t parameters = 0;  // number of parameters
    bool is_block = false;       // attention or MLP
};

// Returns the number of layers of each stage. `partition` is one of
//   "uniform"      numbers of items that differ by at most one; the first stages have the larger ones
//   "parameters"   whole items, such that the largest number of parameters of a stage is minimal
//   "type"         numbers of blocks that differ by at most one; the embedding joins the first stage, the head
//                  joins the last
//   "4,3,3,4"      the number of items of each stage
// Throws ConfigError for any other text, for more stages than items or blocks, and for a list of the wrong
// length, with the wrong sum or with an empty stage. find_balanced_cuts() and plan_pipedream_layout() find the
// partitions "measured" and "pipedream".
std::vector<std::size_t> cut_layers(const std::vector<LayerFacts>& layers, std::size_t stages,
                                    const std::string& partition);

// The measured or counted cost of a layer, or of a run of layers, on one rank.
struct LayerLoad {
    double seconds = 0;                // per micro-batch, forward and backward pass
    double forward_seconds = 0;        // forward part of `seconds`
    double update_seconds = 0;         // per step, independent of the micro-batches
    std::size_t row_bytes = 0;         // per micro-batch: output rows; their gradients have the same size
    std::size_t parameter_bytes = 0;   // parameters whose gradients replicas all-reduce
    std::size_t activation_bytes = 0;  // per micro-batch: stash, kept from its forward to its backward pass
    std::size_t state_bytes = 0;       // permanent: parameters, gradients, optimizer state
    std::size_t workspace_bytes = 0;   // temporary; a stage needs the largest workspace of its layers

    friend bool operator==(const LayerLoad&, const LayerLoad&) = default;
};

// Returns the load under full recomputation: the stash is as large as the output rows, and the forward pass is
// repeated.
LayerLoad add_full_recomputation(const LayerLoad& load);

// Returns the load of two adjacent layers, of which `next` comes second: seconds and bytes add up, the
// workspace is the larger one, and the rows are those of `next`.
LayerLoad merge_loads(const LayerLoad& load, const LayerLoad& next);

}  // namespace trireme::layout
