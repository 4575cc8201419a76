// Memory of a rank by purpose, in bytes.
#pragma once

#include <cstddef>

namespace trireme::setup {

struct RankMemory {
    std::size_t parameters = 0;
    std::size_t gradients = 0;
    std::size_t optimizer = 0;        // optimizer state
    std::size_t offloadable = 0;      // optimizer state without its backup, included in `optimizer`
    std::size_t activations = 0;      // activation stashes of all in-flight micro-batches
    std::size_t workspace = 0;        // scratch memory of passes, updates, resizing and migration
    std::size_t messages = 0;         // buffers of messages between stages and between replicas
    std::size_t copy = 0;             // the copy from which checkpoints are written; 0 if the rank has a GPU
    std::size_t kernels = 0;          // GPU only: scratch memory of kernels, and copies of input batches
    std::size_t copy_beside_gpu = 0;  // GPU only: the copy for checkpoints, which is in host memory
    std::size_t activation = 0;       // largest stash of a micro-batch in one stage, included in `activations`
    // Buffers of a step, included in `activations`, `workspace` and `messages`.
    std::size_t step_buffers = 0;
    std::size_t class_index = 0;  // index of the rank's class: see find_rank_classes()

    // Returns the bytes in GPU memory if the rank has a GPU, otherwise the bytes in host memory.
    std::size_t total() const {
        return parameters + gradients + optimizer + activations + workspace + messages + copy + kernels;
    }
};

// The limit of a rank's memory for the buffers of a step.
struct StepLimit {
    std::size_t bytes = 0;              // while all optimizer state is in memory
    std::size_t offloadable_bytes = 0;  // by which offloaded optimizer state may raise the limit
};

}  // namespace trireme::setup
