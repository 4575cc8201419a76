// The matrix product behind every linear layer, from the fastest library there is.
#pragma once

#include "trireme/device/tensor.hpp"

namespace trireme::cpu {

// One side of a product: the stored matrix or its transpose.
template <class T>
struct Factor {
    Elements<const T> matrix;
    bool is_transposed = false;

    std::size_t depth_as_left() const { return is_transposed ? matrix.rows : matrix.columns; }
};

// output = left right, added to what is there if `accumulate`
template <class T>
struct Product {
    Factor<T> left;      // (rows, depth)
    Factor<T> right;     // (depth, columns)
    Elements<T> output;  // (rows, columns)
    bool accumulate = false;
};

void multiply(int threads, const Product<float>& product);
void multiply(int threads, const Product<double>& product);

}  // namespace trireme::cpu
