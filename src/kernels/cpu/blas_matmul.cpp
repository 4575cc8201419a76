#include <limits>

#include "kernels/cpu/matmul.hpp"

// The Fortran interface, which every BLAS has. Its matrices are column-major. The names are those of the
// BLAS documentation: c (m, n) = alpha a (m, k) b (k, n) + beta c.
extern "C" {
void sgemm_(const char* transpose_a, const char* transpose_b, const int* m, const int* n, const int* k,
            const float* alpha, const float* a, const int* lda, const float* b, const int* ldb,
            const float* beta, float* c, const int* ldc);
void dgemm_(const char* transpose_a, const char* transpose_b, const int* m, const int* n, const int* k,
            const double* alpha, const double* a, const int* lda, const double* b, const int* ldb,
            const double* beta, double* c, const int* ldc);
}

namespace trireme::kernels::cpu {
namespace {

int to_blas_size(std::size_t size) {
    if (size > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
        throw ResourceError(cat("a matrix with ", size,
                                " rows or columns is too large for this BLAS; build with "
                                "oneDNN (Debian: libdnnl-dev) or use more ranks"));
    }
    return static_cast<int>(size);
}

// A row-major matrix is the transpose of a column-major one. The function computes output^T = right^T left^T.
template <class T, class Gemm>
void multiply_with(Gemm gemm, int threads, const Matmul<T>& matmul) {
    const auto& [left, right, output, accumulate] = matmul;
    if (output.rows == 0 || output.columns == 0) return;
    const ScopedMatmulThreads scope(threads);
    const int m = to_blas_size(output.columns);
    const int n = to_blas_size(output.rows);
    const int k = to_blas_size(left.depth_as_left());
    const int right_stride = to_blas_size(right.matrix.stride);
    const int left_stride = to_blas_size(left.matrix.stride);
    const int output_stride = to_blas_size(output.stride);
    const T alpha = 1;
    const T beta = accumulate ? 1 : 0;
    gemm(right.is_transposed ? "T" : "N", left.is_transposed ? "T" : "N", &m, &n, &k, &alpha, right.matrix.data,
         &right_stride, left.matrix.data, &left_stride, &beta, output.data, &output_stride);
}

}  // namespace

void multiply(int threads, const Matmul<float>& matmul) { multiply_with(sgemm_, threads, matmul); }
void multiply(int threads, const Matmul<double>& matmul) { multiply_with(dgemm_, threads, matmul); }

}  // namespace trireme::kernels::cpu
