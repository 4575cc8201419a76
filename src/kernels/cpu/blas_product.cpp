#include <limits>

#include "kernels/cpu/product.hpp"

// The Fortran interface, which every BLAS has. Its matrices are column-major.
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

int blas_size(std::size_t size) {
    if (size > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
        throw ResourceError(cat("a matrix with ", size,
                                " rows or columns is too large for this BLAS; build with "
                                "oneDNN (Debian: libdnnl-dev) or use more ranks"));
    }
    return static_cast<int>(size);
}

// A row-major matrix is the transpose of a column-major one, so this computes output^T = right^T left^T.
template <class T, class Gemm>
void multiply_with(Gemm gemm, int threads, const Product<T>& product) {
    const auto& [left, right, output, accumulate] = product;
    if (output.rows == 0 || output.columns == 0) return;
    const ProductThreads scope(threads);
    const int m = blas_size(output.columns);
    const int n = blas_size(output.rows);
    const int k = blas_size(left.depth_as_left());
    const int right_stride = blas_size(right.matrix.stride);
    const int left_stride = blas_size(left.matrix.stride);
    const int output_stride = blas_size(output.stride);
    const T alpha = 1;
    const T beta = accumulate ? 1 : 0;
    gemm(right.is_transposed ? "T" : "N", left.is_transposed ? "T" : "N", &m, &n, &k, &alpha, right.matrix.data,
         &right_stride, left.matrix.data, &left_stride, &beta, output.data, &output_stride);
}

}  // namespace

void multiply(int threads, const Product<float>& product) { multiply_with(sgemm_, threads, product); }
void multiply(int threads, const Product<double>& product) { multiply_with(dgemm_, threads, product); }

}  // namespace trireme::kernels::cpu
