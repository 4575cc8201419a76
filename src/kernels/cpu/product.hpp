// The matmul of the linear layers, computed by oneDNN or a BLAS.
#pragma once

#include "trireme/device/tensor.hpp"

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace trireme::kernels::cpu {

// One factor of a matmul: the stored matrix or its transpose.
template <class T>
struct Factor {
    device::Elements<const T> matrix;
    bool is_transposed = false;

    std::size_t depth_as_left() const { return is_transposed ? matrix.rows : matrix.columns; }
};

// output = left right; added to the existing values if `accumulate`
template <class T>
struct Product {
    Factor<T> left;              // (rows, depth)
    Factor<T> right;             // (depth, columns)
    device::Elements<T> output;  // (rows, columns)
    bool accumulate = false;
};

void multiply(int threads, const Product<float>& product);
void multiply(int threads, const Product<double>& product);

// A blocked matmul without a library, because oneDNN has none for double.
void multiply_blocked(int threads, const Product<double>& product);

// Sets the OpenMP thread count of the calling thread, which the matmul library uses, and restores it at the end
// of the scope. Simulated ranks in one process therefore do not see each other's setting.
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
