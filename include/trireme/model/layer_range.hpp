// Some layers of a model, without the others.
#pragma once

#include <vector>

#include "trireme/layout/box.hpp"
#include "trireme/model/model.hpp"

namespace trireme {

// build_layers() for the layers in `wanted` alone: of a deep model, much less work.
std::vector<Layer> build_layers(const ModelConfig& config, const TensorPart& part, Range wanted);

}  // namespace trireme
