#include "kernels/cuda/matmul/matmul_library.hpp"

namespace trireme::kernels {
namespace {

constexpr std::size_t vector_elements = 8;  // 16 bytes of bf16
constexpr std::size_t min_side = 64;        // with a shorter side, a second matmul costs more than it saves

// Returns true if a side (rows, columns or depth) of a matmul should be divided.
bool is_ragged(std::size_t side) { return side >= min_side && side % vector_elements != 0; }

std::size_t round_down(std::size_t side) { return side / vector_elements * vector_elements; }

// Returns true if every row begins at a multiple of 16 bytes. Otherwise dividing the matmul saves no time.
bool has_aligned_rows(const device::ConstTensor& matrix) {
    constexpr std::size_t vector_bytes = 16;
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(matrix.data) % vector_bytes == 0;
    return is_aligned && matrix.stride * byte_size(matrix.dtype) % vector_bytes == 0;
}

bool may_be_divided(const GpuMatmul& matmul) {
    return matmul.left.dtype == device::DType::bf16 && matmul.result.is_present() &&
           has_aligned_rows(matmul.left) && has_aligned_rows(matmul.right) && has_aligned_rows(matmul.result);
}

// The side of a matmul that is divided. Only the sides along which a matrix is read or written in vectors need
// the division.
enum class Side { none, rows, columns, depth };

Side find_ragged_side(const GpuMatmul& matmul) {
    if (!may_be_divided(matmul)) return Side::none;
    if (is_ragged(matmul.result.columns)) return Side::columns;
    if (matmul.is_left_transposed && is_ragged(matmul.result.rows)) return Side::rows;
    const bool is_read_along_depth = !matmul.is_left_transposed || matmul.is_right_transposed;
    return is_read_along_depth && is_ragged(matmul.depth()) ? Side::depth : Side::none;
}

GpuMatmul slice_rows(GpuMatmul matmul, std::size_t begin, std::size_t count) {
    matmul.left = matmul.is_left_transposed ? matmul.left.column_range(begin, count)
                                            : matmul.left.row_range(begin, count);
    matmul.result = matmul.result.row_range(begin, count);
    return matmul;
}

GpuMatmul slice_columns(GpuMatmul matmul, std::size_t begin, std::size_t count) {
    matmul.right = matmul.is_right_transposed ? matmul.right.row_range(begin, count)
                                              : matmul.right.column_range(begin, count);
    matmul.result = matmul.result.column_range(begin, count);
    return matmul;
}

GpuMatmul slice_depth(GpuMatmul matmul, std::size_t begin, std::size_t count) {
    matmul.left = matmul.is_left_transposed ? matmul.left.row_range(begin, count)
                                            : matmul.left.column_range(begin, count);
    matmul.right = matmul.is_right_transposed ? matmul.right.column_range(begin, count)
                                              : matmul.right.row_range(begin, count);
    return matmul;
}

}  // namespace

void multiply(MatmulLibrary& library, device::GpuQueue& queue, const GpuMatmul& matmul) {
    const auto multiply_slices = [&](auto slice, std::size_t side) {
        const std::size_t aligned_side = round_down(side);
        multiply(library, queue, slice(matmul, 0, aligned_side));
        multiply(library, queue, slice(matmul, aligned_side, side - aligned_side));
    };
    switch (find_ragged_side(matmul)) {
        case Side::none:
            return library.multiply(queue, matmul);
        case Side::rows:
            return multiply_slices(slice_rows, matmul.result.rows);
        case Side::columns:
            return multiply_slices(slice_columns, matmul.result.columns);
        case Side::depth: {
            // The terms after aligned_side (at most 7 per sum) are added first. If they were added last, to a
            // large sum in bf16, they would be lost in the rounding of the sum.
            const std::size_t aligned_side = round_down(matmul.depth());
            library.multiply(queue, slice_depth(matmul, aligned_side, matmul.depth() - aligned_side));
            GpuMatmul aligned_matmul = slice_depth(matmul, 0, aligned_side);
            aligned_matmul.accumulate = true;
            return library.multiply(queue, aligned_matmul);
        }
    }
}

bool multiply_fused(MatmulLibrary& library, device::GpuQueue& queue, const GpuMatmul& matmul) {
    return find_ragged_side(matmul) == Side::none && library.multiply_fused(queue, matmul);
}

}  // namespace trireme::kernels
