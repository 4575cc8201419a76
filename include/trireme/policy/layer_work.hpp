// What layers ask of whoever holds them.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/layout/box.hpp"

namespace trireme::policy {

// Of a run of layers and one micro-batch. Work is in seconds of some device: how much a layer has beside the
// others is what counts.
struct LayerWork {
    double products = 1;              // matrix products of blocks, forward and back
    double others = 0;                // all else
    std::size_t held_bytes = 0;       // of a rank: parameters, gradients, what the optimizer keeps
    std::size_t kept_bytes = 0;       // likewise, of a micro-batch between its passes
    std::size_t workspace_bytes = 0;  // likewise, while it computes; the layers of a run share the largest
};

// Of every run of a model's layers.
class RunWork {
public:
    explicit RunWork(const std::vector<LayerWork>& layers);
    const LayerWork& of(layout::Range run) const { return runs_[run.begin][run.count - 1]; }
    std::size_t layers() const { return runs_.size(); }

private:
    std::vector<std::vector<LayerWork>> runs_;  // by their first layer, and how many
};

}  // namespace trireme::policy
