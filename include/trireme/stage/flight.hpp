// A micro-batch on its way through a stage: what its forward pass leaves for its backward pass.
#pragma once

#include <vector>

#include "trireme/model/model.hpp"

namespace trireme {

struct Flight {
    Flight(std::size_t bytes, Place place) : kept("activation", bytes, place) {}

    Arena kept;
    std::size_t weights = 0;  // which copies of the parameters it uses, and where it leaves their gradients
    std::size_t gradients = 0;
    std::vector<LayerState> states = {};         // per layer
    std::vector<ConstTensor> inputs = {};        // (own rows, width) per layer; absent for the embedding
    std::vector<ConstTensor> grad_outputs = {};  // (own rows, width) per layer, between backward halves

    // For the next micro-batch.
    void clear() {
        kept.release(0);
        states.clear();
        inputs.clear();
        grad_outputs.clear();
    }
};

}  // namespace trireme
