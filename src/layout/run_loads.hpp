// The loads of all runs of layers, added up once.
#pragma once

#include <vector>

#include "trireme/layout/box.hpp"
#include "trireme/layout/layer_load.hpp"

namespace trireme {

class RunLoads {
public:
    explicit RunLoads(const std::vector<LayerLoad>& layers);

    std::size_t layers() const { return from_.size(); }
    const LayerLoad& of(Range run) const { return from_[run.begin][run.count - 1]; }  // of one layer at least

private:
    std::vector<std::vector<LayerLoad>> from_;  // per first layer: of one layer, of two, ...
};

}  // namespace trireme
