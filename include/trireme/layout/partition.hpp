// Cuts a model's layers into stages, and defines the costs of layers.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trireme/layout/box.hpp"

namespace trireme::layout {

// Properties of a layer that determine the cuts of cut_layers(). Each layer belongs to an item: the embedding,
// a block or the head. For example, gpt2 has 27 layers: embedding, 12 times attention and MLP, norm, head.
// These layers form 14 items: embedding, 12 blocks, head (with the norm).
struct LayerFacts {
    std::size_t item = 0;        // index of the item to which the layer belongs
    std::size_t parameters = 0;  // number of parameters
    bool is_block = false;       // the layer is half of a block: attention or MLP
};

// Returns the number of layers of each stage. Every stage has whole items. `partition` is one of
//   "uniform"      numbers of items per stage differ by at most one; earlier stages have the larger numbers
//   "parameters"   minimizes the number of parameters of the stage that has the most parameters
//   "type"         numbers of blocks per stage differ by at most one; the embedding joins the first stage, the
//                  head joins the last
//   "4,3,3,4"      for example: the number of items of each stage
// Throws ConfigError for any other text, for 0 stages, and for more stages than items ("type": more stages than
// blocks). Throws ConfigError also for a list that has the wrong length, the wrong sum or a 0. Other functions
// find the partitions "measured" and "pipedream": find_balanced_cuts() and plan_pipedream_layout().
std::vector<std::size_t> cut_layers(const std::vector<LayerFacts>& layers, std::size_t stages,
                                    const std::string& partition);

// The measured or counted cost of a layer, or of a run of layers, on one rank.
struct LayerLoad {
    double seconds = 0;                // per micro-batch, forward and backward pass
    double forward_seconds = 0;        // forward part of `seconds`
    double update_seconds = 0;         // per step, independent of the micro-batches
    std::size_t row_bytes = 0;         // per micro-batch: output rows; their gradients have the same size
    std::size_t parameter_bytes = 0;   // parameters whose gradients replicas all-reduce
    std::size_t activation_bytes = 0;  // stash of one micro-batch, kept from its forward to its backward pass
    std::size_t state_bytes = 0;       // permanent: parameters, gradients, optimizer state
    std::size_t workspace_bytes = 0;   // temporary; a stage needs the largest workspace of its layers

    friend bool operator==(const LayerLoad&, const LayerLoad&) = default;
};

// Returns the load of a layer under full recomputation, where `load` is the load without recomputation. The
// stash is as large as the output rows, and each backward pass repeats the forward pass.
LayerLoad add_full_recomputation(const LayerLoad& load);

// Returns the load of two adjacent layers or runs together. `load` is the load of the first one, `next` the
// load of the second. All seconds and bytes are sums, with two exceptions: `workspace_bytes` is the larger
// value, and `row_bytes` is the value of `next`.
LayerLoad merge_loads(const LayerLoad& load, const LayerLoad& next);

}  // namespace trireme::layout
