// Shapes as messages name them: (50257, 768).
#pragma once

#include <cstddef>
#include <string>

#include "trireme/base/error.hpp"

namespace trireme {

// `Extents` is indexed and has a size.
template <class Extents>
std::string shape_text(const Extents& shape) {
    std::string text = "(";
    for (std::size_t axis = 0; axis < shape.size(); ++axis) text += cat(axis == 0 ? "" : ", ", shape[axis]);
    return text + ")";
}

}  // namespace trireme
