#include <cmath>
#include <numbers>

#include "kernels/cuda/row_packs.cuh"
#include "trireme/kernels/fill.hpp"

namespace trireme {
namespace {

using gpu::Wide;

constexpr unsigned fill_threads = 256;

GpuGrid thread_an_element(std::size_t elements) {
    return {.blocks_x = static_cast<unsigned>(gpu::parts(elements, fill_threads)), .threads = fill_threads};
}

template <class T, unsigned count>
__global__ void __launch_bounds__(fill_threads) fill(Elements<T> output, T value) {
    const std::size_t packs = output.columns / count;
    const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i >= output.rows * packs) return;
    gpu::Pack<T, count> pack;
    for (T& element : pack.of) element = value;
    gpu::store_pack(output.row(i / packs) + i % packs * count, pack);
}

template <class T>
void fill_all(CudaStream& stream, const Elements<T>& output, T value) {
    constexpr unsigned size = gpu::pack_size<T>;
    const std::size_t elements = output.rows * output.columns;
    if (gpu::are_packed(output)) {
        gpu::start(stream, thread_an_element(elements / size), fill<T, size>, output, value);
    } else {
        gpu::start(stream, thread_an_element(elements), fill<T, 1>, output, value);
    }
}

// Words 0 and 1 of a block make elements 0 and 1, words 2 and 3 the others. (Box and Muller, 1958)
__device__ double normal_number(RandomKey key, std::size_t element) {
    const RandomBlock words = random_block(key, std::uint64_t{element / 4});
    const std::size_t pair = element % 4 / 2 * 2;
    const double radius = std::sqrt(-2 * std::log(open_unit_interval(words[pair])));
    const double angle = 2 * std::numbers::pi * unit_interval(words[pair + 1]);
    return radius * (element % 2 == 0 ? std::cos(angle) : std::sin(angle));
}

template <class T>
struct Normal {
    Elements<T> output;
    RandomKey key;
    double deviation;
    std::size_t first_element;
    std::size_t global_columns;
};

template <class T>
__global__ void __launch_bounds__(fill_threads) fill_normal(Normal<T> op) {
    const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i >= op.output.rows * op.output.columns) return;
    const std::size_t r = i / op.output.columns;
    const std::size_t c = i % op.output.columns;
    const double number = normal_number(op.key, op.first_element + r * op.global_columns + c);
    op.output(r, c) = static_cast<T>(static_cast<Wide<T>>(op.deviation * number));
}

}  // namespace

void run(CudaStream& stream, const Fill& op) {
    if (op.value == 0 && op.output.is_present() && op.output.is_contiguous()) {
        return stream.work->queue().clear(op.output.data, op.output.bytes());
    }
    gpu::visit_type(op.output.dtype, [&]<class T>(T) {
        const auto value = static_cast<T>(static_cast<Wide<T>>(op.value));
        const bool is_whole = op.output.is_contiguous();
        fill_all(stream, gpu::elements<T>(is_whole ? op.output.flattened() : op.output), value);
    });
}

void run(CudaStream& stream, const FillNormal& op) {
    gpu::visit_type(op.output.dtype, [&]<class T>(T) {
        const Normal<T> normal{.output = gpu::elements<T>(op.output),
                               .key = op.key,
                               .deviation = op.deviation,
                               .first_element = op.first_element,
                               .global_columns = op.global_columns};
        gpu::start(stream, thread_an_element(op.output.size()), fill_normal<T>, normal);
    });
}

}  // namespace trireme
