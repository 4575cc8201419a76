// Cutting a model's layers into stages, and what layers cost.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trireme/layout/box.hpp"

namespace trireme::layout {

// What is known of each layer when it is cut. Items are what people count: the embedding, each block, the head
// (14 for gpt2); layers are halves of blocks (27 for gpt2: embedding, 12 times attention and MLP, norm, head).
struct LayerFacts {
    std::size_t item = 0;  // the item that the layer belongs to, ascending from 0
    std::size_t parameters = 0;
    bool is_block = false;
};

// `wish` is "uniform" (items, as even as they can be, more in the first stages), "parameters" (the largest sum
// of parameters of a stage is as small as it can be; cuts fall between items), "type" (blocks, as even as they
// can be; the embedding belongs to the first stage, the head to the last) or a list of the items of each stage:
// "4,3,3,4". Gives the number of layers of each stage. Throws ConfigError for another wish, naming these and
// the two that ask for measured costs (balanced_cuts(), share_layers()), and where the numbers do not fit: too
// many stages, a list of another length or sum, a stage of no item.
std::vector<std::size_t> cut_layers(const std::vector<LayerFacts>& layers, std::size_t stages,
                                    const std::string& wish);

// What layers cost, as somebody measured or counted it.
struct LayerLoad {
    double seconds = 0;          // of a micro-batch, forward and back
    double forward_seconds = 0;  // of these, forward
    double update_seconds = 0;   // of a step, whatever its micro-batches
    std::size_t row_bytes = 0;   // of a micro-batch's rows as they are handed on; their gradient has as many
    std::size_t parameter_bytes = 0;  // whose gradients replicas sum
    std::size_t kept_bytes = 0;       // of a micro-batch, between its passes
    std::size_t held_bytes = 0;       // always: parameters, gradients, what the optimizer keeps
    std::size_t workspace_bytes = 0;  // while it computes; the layers of a stage share the largest

    friend bool operator==(const LayerLoad&, const LayerLoad&) = default;
};

// Of a layer that keeps nothing but what it hands on, and does its forward pass again before it goes back.
LayerLoad recomputed(const LayerLoad& load);

// Of two neighbours, `next` behind `load`: seconds and bytes together, the larger workspace, the rows that
// `next` hands on.
LayerLoad joined(const LayerLoad& load, const LayerLoad& next);

}  // namespace trireme::layout
