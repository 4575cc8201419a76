// Layers of a model that do the same with other numbers.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/model/model.hpp"

namespace trireme {

// Per layer the first one that is equal to it.
std::vector<std::size_t> first_equals(const std::vector<Layer>& layers);

// The layers that are equal to none before them.
std::vector<std::size_t> distinct_layers(const std::vector<Layer>& layers);

}  // namespace trireme
