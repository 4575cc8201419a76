// Conversion between the floating-point types of stored tensors, and text of shapes and types for messages.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "trireme/archive/safetensors.hpp"
#include "trireme/base/error.hpp"

namespace trireme::archive {

// True for F64, F32, F16 and BF16, the types in which weights are stored.
bool is_float(StoredType type);

// Returns PyTorch's name of one of these four types, such as "bfloat16".
const char* torch_name_of(StoredType type);

// Converts all elements of `in`; throws BugError unless `out` has exactly the size of the result. Rounds to
// nearest, ties to even; values beyond the largest finite one become infinities. A value that `to` can
// represent is kept exactly, and a NaN keeps the bits that fit. A conversion to a wider type and back is thus
// the identity.
void convert_floats(StoredType from, std::span<const std::byte> in, StoredType to, std::span<std::byte> out);

// Returns a text such as "(768, 3072)". `Extents` has operator[] and size().
template <class Extents>
std::string shape_text(const Extents& shape) {
    std::string text = "(";
    for (std::size_t axis = 0; axis < shape.size(); ++axis) text += cat(axis == 0 ? "" : ", ", shape[axis]);
    return text + ")";
}

}  // namespace trireme::archive
