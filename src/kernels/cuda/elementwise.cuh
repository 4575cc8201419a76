// Work on each element of a matrix, which depends on no other: a thread for every vector.
#pragma once

#include <limits>

#include "kernels/cuda/vectors.cuh"
#include "trireme/base/error.hpp"

namespace trireme::gpu {

inline constexpr unsigned elementwise_threads = 256;

// How many blocks of so many threads have at least `count` threads.
inline unsigned blocks_for(std::size_t count, unsigned threads) {
    const std::size_t blocks = parts(count, threads);
    if (blocks <= std::numeric_limits<std::int32_t>::max()) return static_cast<unsigned>(blocks);
    throw BugError(cat("a kernel was asked for ", blocks, " blocks of ", threads, " threads"));
}

// Of the first of a vector's elements.
struct VectorPlace {
    std::size_t row = 0;
    std::size_t column = 0;
};

// The vectors of a matrix in their order, row after row.
struct VectorOrder {
    std::size_t rows = 0;
    std::size_t columns = 0;
    unsigned width = 1;  // that divides the columns

    __host__ __device__ constexpr std::size_t of_row() const { return columns / width; }
    __host__ __device__ constexpr std::size_t count() const { return rows * of_row(); }
    __host__ __device__ constexpr VectorPlace place(std::size_t number) const {
        return {.row = number / of_row(), .column = number % of_row() * width};
    }
};

template <unsigned width, class Step>
__global__ void __launch_bounds__(elementwise_threads) take_steps(Step step, VectorOrder order) {
    const std::size_t number = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (number >= order.count()) return;
    const VectorPlace place = order.place(number);
    step.template at<width>(place.row, place.column);
}

// Calls step.at<width>(row, column) on the GPU for every vector, `column` being that of its first element.
template <class T, class Step>
void for_each_vector(CudaStream& stream, std::size_t rows, std::size_t columns, bool has_vectors,
                     const Step& step) {
    visit_width<T>(has_vectors, [&]<unsigned width>(std::integral_constant<unsigned, width>) {
        const VectorOrder order{.rows = rows, .columns = columns, .width = width};
        start(stream,
              {.blocks_x = blocks_for(order.count(), elementwise_threads), .threads = elementwise_threads},
              take_steps<width, Step>, step, order);
    });
}

}  // namespace trireme::gpu
