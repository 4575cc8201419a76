// Cost of layers, in units that are independent of the rank that executes them.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/layout/box.hpp"

namespace trireme::policy {

// Work of a run of layers for one micro-batch, in seconds of an arbitrary device. Only ratios between layers
// count.
struct LayerWork {
    double products = 1;              // matmuls of blocks, forward and backward
    double others = 0;                // all other kernels
    std::size_t held_bytes = 0;       // per rank: parameters, gradients, optimizer state
    std::size_t kept_bytes = 0;       // per rank: activations of one in-flight micro-batch
    std::size_t workspace_bytes = 0;  // per rank: temporary memory; the layers of a run share the largest
};

// The work of every run of a model's layers.
class RunWork {
public:
    explicit RunWork(const std::vector<LayerWork>& layers);
    const LayerWork& of(layout::Range run) const { return runs_[run.begin][run.count - 1]; }
    std::size_t layers() const { return runs_.size(); }

private:
    std::vector<std::vector<LayerWork>> runs_;  // by first layer, then by length - 1
};

}  // namespace trireme::policy
