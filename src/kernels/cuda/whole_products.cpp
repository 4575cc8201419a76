#include "kernels/cuda/whole_products.hpp"

namespace trireme {
namespace {

constexpr std::size_t vector_elements = 8;  // 16 bytes of bf16
constexpr std::size_t least_side = 64;      // below, a second product costs more than it saves

bool is_ragged(std::size_t side) { return side >= least_side && side % vector_elements != 0; }

std::size_t whole_part(std::size_t side) { return side / vector_elements * vector_elements; }

// Nothing is gained where rows do not begin at whole vectors.
bool has_whole_rows(const ConstTensor& matrix) {
    constexpr std::size_t vector_bytes = 16;
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(matrix.data) % vector_bytes == 0;
    return is_aligned && matrix.stride * bytes_of(matrix.dtype) % vector_bytes == 0;
}

bool can_be_cut(const GpuProduct& product) {
    return product.left.dtype == DType::bf16 && product.result.is_present() && has_whole_rows(product.left) &&
           has_whole_rows(product.right) && has_whole_rows(product.result);
}

GpuProduct with_columns(GpuProduct product, std::size_t begin, std::size_t count) {
    product.right = product.is_right_transposed ? product.right.row_range(begin, count)
                                                : product.right.column_range(begin, count);
    product.result = product.result.column_range(begin, count);
    return product;
}

GpuProduct with_terms(GpuProduct product, std::size_t begin, std::size_t count) {
    product.left = product.is_left_transposed ? product.left.row_range(begin, count)
                                              : product.left.column_range(begin, count);
    product.right = product.is_right_transposed ? product.right.column_range(begin, count)
                                                : product.right.row_range(begin, count);
    return product;
}

}  // namespace

// The few terms come first: added to a large sum in bf16, they would be lost in its rounding.
void multiply(ProductLibrary& library, GpuQueue& queue, const GpuProduct& product) {
    const std::size_t columns = product.result.columns, depth = product.depth();
    if (can_be_cut(product) && is_ragged(columns)) {
        const std::size_t whole = whole_part(columns);
        multiply(library, queue, with_columns(product, 0, whole));
        multiply(library, queue, with_columns(product, whole, columns - whole));
    } else if (can_be_cut(product) && is_ragged(depth)) {
        const std::size_t whole = whole_part(depth);
        library.multiply(queue, with_terms(product, whole, depth - whole));
        GpuProduct rest = with_terms(product, 0, whole);
        rest.accumulate = true;
        library.multiply(queue, rest);
    } else {
        library.multiply(queue, product);
    }
}

bool multiply_joined(ProductLibrary& library, GpuQueue& queue, const GpuProduct& product) {
    const bool is_cut =
        can_be_cut(product) && (is_ragged(product.result.columns) || is_ragged(product.depth()));
    return !is_cut && library.multiply_joined(queue, product);
}

}  // namespace trireme
