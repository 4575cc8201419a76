// What layers cost, as somebody measured or counted it.
#pragma once

#include <cstddef>

namespace trireme {

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

}  // namespace trireme
