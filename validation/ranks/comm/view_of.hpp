// Tensors that view the vectors of the tests.
#pragma once

#include <vector>

#include "trireme/device/tensor.hpp"

namespace trireme::comm {

template <class T>
device::Tensor make_view(std::vector<T>& values) {
    return {values.data(), device::to_dtype<T>(), 1, values.size(), values.size()};
}

}  // namespace trireme::comm
