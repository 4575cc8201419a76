// The struct counts the memory of a rank by purpose.
#pragma once

#include <cstddef>

namespace trireme::setup {

struct RankMemory {
    std::size_t parameters = 0;
    std::size_t gradients = 0;
    std::size_t optimizer = 0;
    std::size_t activations = 0;  // of all micro-batches in flight
    std::size_t workspace = 0;
    std::size_t messages = 0;         // on their way between stages and between replicas
    std::size_t copy = 0;             // of what a checkpoint is written from while the run goes on
    std::size_t kernels = 0;          // of a GPU's kernels alone, and of batches that were sent to it
    std::size_t copy_beside_gpu = 0;  // where all else is a GPU's: the copy, which is in the machine's memory
    std::size_t activation = 0;       // the part of `activations` that one micro-batch takes in one stage

    // The bytes on the GPU if there is one, else those of the process.
    std::size_t total() const {
        return parameters + gradients + optimizer + activations + workspace + messages + copy + kernels;
    }
};

}  // namespace trireme::setup
