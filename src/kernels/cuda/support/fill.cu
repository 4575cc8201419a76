#include <cmath>
#include <numbers>

#include "kernels/cuda/support/elementwise.cuh"
#include "kernels/cuda/support/walk.hpp"
#include "trireme/kernels/fill.hpp"

namespace trireme::kernels {
namespace {

using gpu::Accumulator;
using gpu::Vector;

template <class T>
struct SetAll {
    device::Elements<T> output;
    Accumulator<T> value;

    template <unsigned width>
    __device__ void process(std::size_t row, std::size_t column) const {
        Vector<T, width> vector;
        for (unsigned i = 0; i < width; ++i) vector.set(i, value);
        gpu::store(output, row, column, vector);
    }
};

// Four elements use one random block. Words 0 and 1 of the block yield the first two elements, and words 2 and
// 3 yield the last two. (Box and Muller, 1958)
__device__ double make_normal_number(RandomKey key, std::size_t element) {
    const RandomBlock words = random_block(key, std::uint64_t{element / 4});
    const std::size_t pair = element % 4 / 2 * 2;
    const double radius = std::sqrt(-2 * std::log(to_open_unit_interval(words[pair])));
    const double angle = 2 * std::numbers::pi * to_unit_interval(words[pair + 1]);
    return radius * (element % 2 == 0 ? std::cos(angle) : std::sin(angle));
}

template <class T>
struct SetNormal {
    device::Elements<T> output;
    RandomKey key;
    double deviation;
    std::size_t first_element;   // index of output(0, 0) in the flattened global tensor
    std::size_t global_columns;  // columns of the global tensor that `output` is a slice of

    template <unsigned width>
    __device__ void process(std::size_t row, std::size_t column) const {
        const std::size_t first = first_element + row * global_columns + column;
        Vector<T, width> vector;
        for (unsigned i = 0; i < width; ++i)
            vector.set(i, static_cast<Accumulator<T>>(deviation * make_normal_number(key, first + i)));
        gpu::store(output, row, column, vector);
    }
};

}  // namespace

void run(device::CudaStream& stream, const Fill& op) {
    if (op.value == 0 && op.output.is_present() && op.output.is_contiguous()) {
        return stream.work->queue().clear(op.output.data, op.output.bytes());
    }
    const gpu::CommonShape shape = gpu::CommonShape::find(op.output);
    gpu::visit_type(op.output.dtype, [&]<class T>(T) {
        const SetAll<T> step{.output = shape.make_elements<T>(op.output),
                             .value = static_cast<Accumulator<T>>(op.value)};
        gpu::for_each_vector<T>(stream, shape.rows, shape.columns, gpu::may_use_vectors<T>(step.output), step);
    });
}

void run(device::CudaStream& stream, const FillNormal& op) {
    gpu::visit_type(op.output.dtype, [&]<class T>(T) {
        const SetNormal<T> step{.output = gpu::get_elements<T>(op.output),
                                .key = op.key,
                                .deviation = op.deviation,
                                .first_element = op.first_element,
                                .global_columns = op.global_columns};
        gpu::for_each_vector<T>(stream, op.output.rows, op.output.columns, gpu::may_use_vectors<T>(step.output),
                                step);
    });
}

}  // namespace trireme::kernels
