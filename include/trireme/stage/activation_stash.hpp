// The tensors that the passes of a stage keep of a micro-batch, and the functions that they call.
#pragma once

#include <functional>
#include <vector>

#include "trireme/device/buffer.hpp"
#include "trireme/model/model.hpp"
#include "trireme/plan/recompute.hpp"

namespace trireme::stage {

// The activation stash of an in-flight micro-batch in a stage: the tensors that its backward pass reads.
struct ActivationStash {
    ActivationStash(std::size_t bytes, device::MemorySpace memory_space)
        : arena("activation", bytes, memory_space) {}

    device::Arena arena;
    std::byte* memory = nullptr;  // of the arena; null if the arena owns its memory
    std::size_t weight_copy = 0;  // index of the copy of the weights that the passes read (see LocalParameters)
    std::size_t gradient_copy = 0;  // index of the copy of the gradients to which the backward pass adds
    // Per block of the stage: the recomputation of the micro-batch. Empty: that of StageSpec for all blocks.
    std::vector<plan::Recompute> levels = {};
    std::vector<model::LayerState> states = {};          // per layer
    std::vector<device::ConstTensor> inputs = {};        // per layer: (rows of this rank, width), or absent
    std::vector<device::ConstTensor> grad_outputs = {};  // per layer, for backward_weight(); like `inputs`

    // Empties the stash for the next micro-batch, or for a repetition of its passes.
    void clear() {
        arena.release(0);
        states.clear();
        inputs.clear();
        grad_outputs.clear();
    }
};

// Functions that passes call.
struct PassEvents {
    std::function<void()> after_layer = [] {};  // called after each layer, to progress messages
    // Called after a layer has added its gradients, with the layer's parameters as indices in LocalParameters.
    std::function<void(const std::vector<std::size_t>& parameters)> after_layer_gradients = [](const auto&) {};
};

}  // namespace trireme::stage
