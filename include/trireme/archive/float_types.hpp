// Converts between the floating-point types of stored tensors, and describes types and shapes as text.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "trireme/archive/safetensors.hpp"
#include "trireme/base/error.hpp"

namespace trireme::archive {

// Returns true for F64, F32, F16 and BF16, the types in which weights are stored.
bool is_float_type(StoredType type);

// Returns PyTorch's name of one of these four types, such as "bfloat16".
const char* torch_type_name(StoredType type);

// Converts all elements of `in` from the type `from` to the type `to`. Rounds to nearest, ties to even; values
// beyond the largest finite number of `to` become infinities. Values that `to` can represent do not change, and
// NaNs keep the leading bits of their mantissa. A conversion to a wider type and back is therefore the
// identity. Throws BugError unless `out` has exactly the size of the result.
void convert_floats(StoredType from, std::span<const std::byte> in, StoredType to, std::span<std::byte> out);

// Returns a text such as "(768, 3072)". `Extents` is the type of a list of numbers with operator[] and size().
template <class Extents>
std::string format_shape(const Extents& shape) {
    std::string text = "(";
    for (std::size_t axis = 0; axis < shape.size(); ++axis) text += cat(axis == 0 ? "" : ", ", shape[axis]);
    return text + ")";
}

}  // namespace trireme::archive
