// Element-wise operations on a matrix, with one thread per vector of elements.
#pragma once

#include <algorithm>

#include "kernels/cuda/support/vectors.cuh"

namespace trireme::kernels::gpu {

inline constexpr unsigned elementwise_threads = 256;

// Position of a vector's first element.
struct VectorPosition {
    std::size_t row = 0;
    std::size_t column = 0;
};

// The vectors of a range of rows, in row-major order.
struct VectorRows {
    std::size_t first_row = 0;
    unsigned count = 0;  // number of vectors
    unsigned vectors_per_row = 0;

    __host__ __device__ constexpr VectorPosition find_position(unsigned index, unsigned width) const {
        return {.row = first_row + index / vectors_per_row,
                .column = std::size_t{index % vectors_per_row} * width};
    }
};

// Calls use(VectorRows) for ranges that cover the rows of a matrix. Each range is small enough for 32-bit
// indices of its vectors, because a 64-bit division would take longer than reading a vector.
template <class Use>
void for_each_row_range(std::size_t rows, std::size_t vectors_per_row, Use&& use) {
    if (vectors_per_row == 0) return;
    const std::size_t rows_at_once = std::max(max_blocks / vectors_per_row, std::size_t{1});
    for (std::size_t first = 0; first < rows; first += rows_at_once) {
        const std::size_t count = std::min(rows - first, rows_at_once) * vectors_per_row;
        use(VectorRows{.first_row = first,
                       .count = count_blocks(count, 1),
                       .vectors_per_row = static_cast<unsigned>(vectors_per_row)});
    }
}

template <unsigned width, class Step>
__global__ void __launch_bounds__(elementwise_threads) run_step(Step step, VectorRows vectors) {
    const unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= vectors.count) return;
    const VectorPosition position = vectors.find_position(index, width);
    step.template process<width>(position.row, position.column);
}

// Calls step.process<width>(row, column) on the GPU for every vector of `width` elements; `column` is the
// column of the vector's first element.
template <class T, class Step>
void for_each_vector(device::CudaStream& stream, std::size_t rows, std::size_t columns, bool may_use_vectors,
                     const Step& step) {
    visit_width<T>(may_use_vectors, [&]<unsigned width>(std::integral_constant<unsigned, width>) {
        for_each_row_range(rows, columns / width, [&](const VectorRows& vectors) {
            launch_kernel(
                stream,
                {.blocks_x = count_blocks(vectors.count, elementwise_threads), .threads = elementwise_threads},
                run_step<width, Step>, step, vectors);
        });
    });
}

}  // namespace trireme::kernels::gpu
