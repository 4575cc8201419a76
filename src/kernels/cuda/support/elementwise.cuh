// Work on each element of a matrix, which depends on no other: a thread for every vector.
#pragma once

#include <algorithm>

#include "kernels/cuda/support/vectors.cuh"

namespace trireme::kernels::gpu {

inline constexpr unsigned elementwise_threads = 256;

// Of the first of a vector's elements.
struct VectorPlace {
    std::size_t row = 0;
    std::size_t column = 0;
};

// The vectors of some rows of a matrix in their order, row after row.
struct VectorRows {
    std::size_t first_row = 0;
    unsigned count = 0;
    unsigned of_row = 0;

    __host__ __device__ constexpr VectorPlace place(unsigned number, unsigned width) const {
        return {.row = first_row + number / of_row, .column = std::size_t{number % of_row} * width};
    }
};

// Calls use(VectorRows) for the rows of a matrix, with as many at once as 32 bits count the vectors of: to
// divide by more would take longer than to read them.
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

// Calls step.at<width>(row, column) on the GPU for every vector, `column` being that of its first element.
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
