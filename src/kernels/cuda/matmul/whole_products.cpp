#include "kernels/cuda/matmul/product_library.hpp"

namespace trireme::kernels {
namespace {

constexpr std::size_t vector_elements = 8;  // 16 bytes of bf16
constexpr std::size_t min_side = 64;        // below, a second matmul costs more than it saves

bool is_ragged(std::size_t side) { return side >= min_side && side % vector_elements != 0; }

std::size_t whole_part(std::size_t side) { return side / vector_elements * vector_elements; }

// Returns true if every row begins at a multiple of 16 bytes. Otherwise the division gains nothing.
bool has_whole_rows(const device::ConstTensor& matrix) {
    constexpr std::size_t vector_bytes = 16;
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(matrix.data) % vector_bytes == 0;
    return is_aligned && matrix.stride * bytes_of(matrix.dtype) % vector_bytes == 0;
}

bool can_be_cut(const GpuProduct& product) {
    return product.left.dtype == device::DType::bf16 && product.result.is_present() &&
           has_whole_rows(product.left) && has_whole_rows(product.right) && has_whole_rows(product.result);
}

// The side of a matmul that is divided. Only sides along which a matrix is read or written in vectors matter.
enum class Side { none, rows, columns, depth };

Side ragged_side(const GpuProduct& product) {
    if (!can_be_cut(product)) return Side::none;
    if (is_ragged(product.result.columns)) return Side::columns;
    if (product.is_left_transposed && is_ragged(product.result.rows)) return Side::rows;
    const bool is_read_along_depth = !product.is_left_transposed || product.is_right_transposed;
    return is_read_along_depth && is_ragged(product.depth()) ? Side::depth : Side::none;
}

GpuProduct with_rows(GpuProduct product, std::size_t begin, std::size_t count) {
    product.left = product.is_left_transposed ? product.left.column_range(begin, count)
                                              : product.left.row_range(begin, count);
    product.result = product.result.row_range(begin, count);
    return product;
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

void multiply(ProductLibrary& library, device::GpuQueue& queue, const GpuProduct& product) {
    const auto multiply_parts = [&](auto part_of, std::size_t side) {
        const std::size_t whole = whole_part(side);
        multiply(library, queue, part_of(product, 0, whole));
        multiply(library, queue, part_of(product, whole, side - whole));
    };
    switch (ragged_side(product)) {
        case Side::none:
            return library.multiply(queue, product);
        case Side::rows:
            return multiply_parts(with_rows, product.result.rows);
        case Side::columns:
            return multiply_parts(with_columns, product.result.columns);
        case Side::depth: {
            // The few remaining terms come first: added to a large bf16 sum, they would be lost in its
            // rounding.
            const std::size_t whole = whole_part(product.depth());
            library.multiply(queue, with_terms(product, whole, product.depth() - whole));
            GpuProduct rest = with_terms(product, 0, whole);
            rest.accumulate = true;
            return library.multiply(queue, rest);
        }
    }
}

bool multiply_joined(ProductLibrary& library, device::GpuQueue& queue, const GpuProduct& product) {
    return ragged_side(product) == Side::none && library.multiply_joined(queue, product);
}

}  // namespace trireme::kernels
