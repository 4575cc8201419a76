#include <oneapi/dnnl/dnnl.h>

#include "kernels/cpu/blocked_product.hpp"
#include "kernels/cpu/product.hpp"
#include "kernels/cpu/product_threads.hpp"

namespace trireme::cpu {

// dnnl_sgemm and not a matmul primitive: on plain layouts it was faster in most shapes of GPT-2, up to 3 times,
// and it needs no cache of primitives.
void multiply(int threads, const Product<float>& product) {
    const auto& [left, right, output, accumulate] = product;
    if (output.rows == 0 || output.columns == 0) return;
    const ProductThreads scope(threads);
    const dnnl_status_t status = dnnl_sgemm(
        left.is_transposed ? 'T' : 'N', right.is_transposed ? 'T' : 'N', static_cast<dnnl_dim_t>(output.rows),
        static_cast<dnnl_dim_t>(output.columns), static_cast<dnnl_dim_t>(left.depth_as_left()), 1,
        left.matrix.data, static_cast<dnnl_dim_t>(left.matrix.stride), right.matrix.data,
        static_cast<dnnl_dim_t>(right.matrix.stride), accumulate ? 1.0F : 0.0F, output.data,
        static_cast<dnnl_dim_t>(output.stride));
    if (status != dnnl_success) {
        throw ResourceError(cat("oneDNN refused a product of ", output.rows, " x ", left.depth_as_left(), " x ",
                                output.columns, " with status ", static_cast<int>(status),
                                "; use a smaller --batch, or --device reference"));
    }
}

void multiply(int threads, const Product<double>& product) { multiply_blocked(threads, product); }

}  // namespace trireme::cpu
