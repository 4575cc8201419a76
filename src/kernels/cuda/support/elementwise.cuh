// Element-wise work on a matrix, with one thread per vector of elements.
#pragma once

#include <algorithm>

#include "kernels/cuda/support/vectors.cuh"

namespace trireme::kernels::gpu {

inline constexpr unsigned elementwise_threads = 256;

// Position of a vector's first element.
struct VectorPlace {
    std::size_t row = 0;
    std::size_t column = 0;
};

// The vectors of a range of rows, in row-major order.
struct VectorRows {
    std::size_t first_row = 0;
    unsigned count = 0;
    unsigned of_row = 0;

    __host__ __device__ constexpr VectorPlace place(unsigned number, unsigned width) const {
        return {.row = first_row + number / of_row, .column = std::size_t{number % of_row} * width};
    }
};

// Calls use(VectorRows) for ranges that cover the rows of a matrix. A range has few enough vectors for 32-bit
// indices, because a 64-bit division would take longer than to read a vector.
template <class Use>
void for_rows_at_once(std::size_t rows, std::size_t vectors_of_row, Use&& use) {
    if (vectors_of_row == 0) return;
    const std::size_t rows_at_once = std::max(most_blocks / vectors_of_row, std::size_t{1});
    for (std::size_t first = 0; first < rows; first += rows_at_once) {
        const std::size_t count = std::min(rows - first, rows_at_once) * vectors_of_row;
        use(VectorRows{.first_row = first,
                       .count = blocks_for(count, 1),
                       .of_row = static_cast<unsigned>(vectors_of_row)});
    }
}

template <unsigned width, class Step>
__global__ void __launch_bounds__(elementwise_threads) take_steps(Step step, VectorRows vectors) {
    const unsigned number = blockIdx.x * blockDim.x + threadIdx.x;
    if (number >= vectors.count) return;
    const VectorPlace place = vectors.place(number, width);
    step.template at<width>(place.row, place.column);
}

// Calls step.at<width>(row, column) on the GPU for every vector; `column` is that of its first element.
template <class T, class Step>
void for_each_vector(device::CudaStream& stream, std::size_t rows, std::size_t columns, bool has_vectors,
                     const Step& step) {
    visit_width<T>(has_vectors, [&]<unsigned width>(std::integral_constant<unsigned, width>) {
        for_rows_at_once(rows, columns / width, [&](const VectorRows& vectors) {
            start(stream,
                  {.blocks_x = blocks_for(vectors.count, elementwise_threads), .threads = elementwise_threads},
                  take_steps<width, Step>, step, vectors);
        });
    });
}

}  // namespace trireme::kernels::gpu
