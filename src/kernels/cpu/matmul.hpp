// The matmul of the linear layers. oneDNN or a BLAS computes it. In a build with oneDNN, multiply_blocked()
// computes matmuls of doubles.
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

// output = left right, or output += left right if `accumulate`
template <class T>
struct Matmul {
    Factor<T> left;              // (rows, depth)
    Factor<T> right;             // (depth, columns)
    device::Elements<T> output;  // (rows, columns)
    bool accumulate = false;
};

void multiply(int threads, const Matmul<float>& matmul);
void multiply(int threads, const Matmul<double>& matmul);

// A blocked matmul without a library, because oneDNN has no matmul for double. Defined only in a build with
// oneDNN.
void multiply_blocked(int threads, const Matmul<double>& matmul);

// Sets the OpenMP thread count of the calling thread, and restores the previous count at the end of the scope.
// The matmul library uses this count. Simulated ranks, which share one process, therefore do not see each
// other's setting.
class ScopedMatmulThreads {
public:
#if defined(_OPENMP)
    explicit ScopedMatmulThreads(int threads) : previous_threads_(omp_get_max_threads()) {
        omp_set_num_threads(threads);
    }
    ~ScopedMatmulThreads() { omp_set_num_threads(previous_threads_); }
#else
    explicit ScopedMatmulThreads(int) {}
#endif
    ScopedMatmulThreads(const ScopedMatmulThreads&) = delete;
    ScopedMatmulThreads& operator=(const ScopedMatmulThreads&) = delete;

private:
    int previous_threads_ = 1;
};

}  // namespace trireme::kernels::cpu
