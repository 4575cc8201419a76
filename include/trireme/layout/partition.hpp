// Cuts a model's layers into stages, and defines what layers cost.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trireme/layout/box.hpp"

namespace trireme::layout {

// Facts about a layer that decide where to cut. Items are the embedding, each block and the head (14 for gpt2).
// Layers are halves of blocks (27 for gpt2: embedding, 12 times attention and MLP, norm, head).
struct LayerFacts {
    std::size_t item = 0;  // the item that the layer belongs to, ascending from 0
    std::size_t parameters = 0;
    bool is_block = false;
};

// Returns the number of layers of each stage. `wish` is one of
//   "uniform"      equal numbers of items; the first stages get the extra ones
//   "parameters"   minimizes the largest number of parameters of a stage; cuts between items
//   "type"         equal numbers of blocks; the embedding joins the first stage, the head the last
//   "4,3,3,4"      the number of items of each stage
// Throws ConfigError for any other text; the message also names the two partitions that use measured costs
// (balanced_cuts(), share_layers()). Throws ConfigError as well for too many stages, or a list of the wrong
// length or sum or with an empty stage.
std::vector<std::size_t> cut_layers(const std::vector<LayerFacts>& layers, std::size_t stages,
                                    const std::string& wish);

// Measured or counted cost of a layer.
struct LayerLoad {
    double seconds = 0;          // per micro-batch, forward and backward pass
    double forward_seconds = 0;  // forward part of `seconds`
    double update_seconds = 0;   // per step, independent of the micro-batches
    std::size_t row_bytes = 0;   // per micro-batch: rows sent to the next layer; their gradient is as large
    std::size_t parameter_bytes = 0;  // parameters whose gradients replicas all-reduce
    std::size_t kept_bytes = 0;       // per micro-batch: activations kept from its forward to its backward pass
    std::size_t held_bytes = 0;       // permanent: parameters, gradients, optimizer state
    std::size_t workspace_bytes = 0;  // temporary; the layers of a stage share the largest workspace

    friend bool operator==(const LayerLoad&, const LayerLoad&) = default;
};

// Returns the load under full recomputation: the layer keeps only its rows and repeats its forward pass.
LayerLoad recomputed(const LayerLoad& load);

// Returns the load of two adjacent layers, of which `next` comes second: seconds and bytes add up, the
// workspace is the larger one, and the rows are those of `next`.
LayerLoad joined(const LayerLoad& load, const LayerLoad& next);

}  // namespace trireme::layout
