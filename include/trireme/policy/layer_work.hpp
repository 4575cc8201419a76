// The work of layers, in a unit that does not depend on the rank that executes them.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/layout/box.hpp"

namespace trireme::policy {

// The work of a run of consecutive layers for one micro-batch, in seconds of an arbitrary but fixed device.
// Only ratios of seconds matter. Bytes are per rank of a team with even shares.
struct LayerWork {
    double matmuls = 1;                // seconds in the matmuls of blocks, forward and backward
    double other_kernels = 0;          // seconds in all other kernels
    double forward = 1.0 / 3;          // seconds of both kinds of kernels in the forward pass
    double backward_weight = 1.0 / 3;  // the same in the half of the backward pass for weights
    std::size_t state_bytes = 0;       // parameters, gradients and optimizer state
    std::size_t activation_bytes = 0;  // activation stash of one in-flight micro-batch
    std::size_t workspace_bytes = 0;   // temporary memory, which the layers of a run share
};

// The work of every run of consecutive layers of a model.
class LayerRunWork {
public:
    explicit LayerRunWork(const std::vector<LayerWork>& layers);  // one per layer of the model
    // Returns the work of the layers in `run`, which must not be empty.
    const LayerWork& find(layout::Range run) const { return runs_[run.begin][run.count - 1]; }
    std::size_t layers() const { return runs_.size(); }  // number of layers of the model

private:
    std::vector<std::vector<LayerWork>> runs_;  // by first layer, then by length - 1
};

}  // namespace trireme::policy
