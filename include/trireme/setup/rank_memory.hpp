// Memory of a rank by purpose, in bytes.
#pragma once

#include <cstddef>

namespace trireme::setup {

struct RankMemory {
    std::size_t parameters = 0;
    std::size_t gradients = 0;
    std::size_t optimizer = 0;
    std::size_t activations = 0;  // activation stashes of all in-flight micro-batches
    std::size_t workspace = 0;
    std::size_t messages = 0;         // buffers of messages between stages and between replicas
    std::size_t copy = 0;             // the copy from which checkpoints are written during a run
    std::size_t kernels = 0;          // GPU only: scratch memory of kernels, and copies of input batches
    std::size_t copy_beside_gpu = 0;  // the checkpoint copy in host memory, if all else is on a GPU
    std::size_t activation = 0;       // the stash of one micro-batch in one stage, included in `activations`

    // Returns the bytes on the GPU if the rank has one, otherwise the bytes of the process.
    std::size_t total() const {
        return parameters + gradients + optimizer + activations + workspace + messages + copy + kernels;
    }
};

}  // namespace trireme::setup
