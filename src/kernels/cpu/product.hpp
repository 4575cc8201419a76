// The matrix product behind every linear layer, from the fastest library there is.
#pragma once

#include "trireme/device/tensor.hpp"

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace trireme::kernels::cpu {

// One side of a product: the stored matrix or its transpose.
template <class T>
struct Factor {
    device::Elements<const T> matrix;
    bool is_transposed = false;

    std::size_t depth_as_left() const { return is_transposed ? matrix.rows : matrix.columns; }
};

// output = left right, added to what is there if `accumulate`
template <class T>
struct Product {
    Factor<T> left;              // (rows, depth)
    Factor<T> right;             // (depth, columns)
    device::Elements<T> output;  // (rows, columns)
    bool accumulate = false;
};

void multiply(int threads, const Product<float>& product);
void multiply(int threads, const Product<double>& product);

// A matrix product of our own, for double where the library has none.
void multiply_blocked(int threads, const Product<double>& product);

// The matrix library takes its number of threads from OpenMP's setting of the calling thread. It is set for one
// product and put back, so that ranks simulated in one process do not see each other's.
class ProductThreads {
public:
#if defined(_OPENMP)
    explicit ProductThreads(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
    ~ProductThreads() { omp_set_num_threads(before_); }
#else
    explicit ProductThreads(int) {}
#endif
    ProductThreads(const ProductThreads&) = delete;
    ProductThreads& operator=(const ProductThreads&) = delete;

private:
    int before_ = 1;
};

}  // namespace trireme::kernels::cpu
