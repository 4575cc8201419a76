// Products of matrices on a GPU, by the vendor's library.
#pragma once

#include "trireme/device/tensor.hpp"

namespace trireme {

// result = left right + bias; added to what is there if `accumulate`. A transposed factor lies in memory as
// (columns, rows) of what is multiplied. Factors are of one type; the result's is theirs or the wide one of it.
//
// What is joined to a product besides its bias, each of it or absent, all of the result's type:
//   activated         (rows, columns)   gelu_tanh(result)
//   activated_from    (rows, columns)   the result is multiplied by gelu_tanh's slope there
// The library takes one of these, or none: see ProductLibrary::multiply_joined().
struct GpuProduct {
    ConstTensor left;   // (rows, depth), or (depth, rows) if transposed
    ConstTensor right;  // (depth, columns), or (columns, depth) if transposed
    bool is_left_transposed = false;
    bool is_right_transposed = false;
    ConstTensor bias = {};  // (columns) of the result's type, or absent
    Tensor result;          // (rows, columns)
    bool accumulate = false;
    Tensor activated = {};
    ConstTensor activated_from = {};

    std::size_t depth() const { return is_left_transposed ? left.rows : left.columns; }
};

}  // namespace trireme
