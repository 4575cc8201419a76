// Types and shapes of stored tensors: conversion between floating-point types, shapes in messages.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "trireme/archive/safetensors.hpp"
#include "trireme/base/error.hpp"

namespace trireme::archive {

// F64, F32, F16 and BF16 are what weights are stored in.
bool is_float(StoredType type);

const char* torch_name_of(StoredType type);  // of those four: "bfloat16"

// As many elements as `in` has, which `out` must have room for exactly. A value that the other type does not
// have becomes the nearest one, of two equally near the even one, beyond the largest an infinity. One that it
// has stays, not-a-numbers with the bits that fit: to a wider type and back is the identity.
void convert_floats(StoredType from, std::span<const std::byte> in, StoredType to, std::span<std::byte> out);

// `Extents` is indexed and has a size.
template <class Extents>
std::string shape_text(const Extents& shape) {
    std::string text = "(";
    for (std::size_t axis = 0; axis < shape.size(); ++axis) text += cat(axis == 0 ? "" : ", ", shape[axis]);
    return text + ")";
}

}  // namespace trireme::archive
