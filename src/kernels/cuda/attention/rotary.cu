// A block of threads rotates channel pairs of several rows. Its threads first compute the sines and cosines of
// these pairs in shared memory, once for all heads. Then they rotate vectors of channel pairs.
#include "kernels/cuda/support/elementwise.cuh"
#include "trireme/kernels/rotary.hpp"

namespace trireme::kernels {
namespace {

using gpu::Accumulator;
using gpu::Vector;

constexpr unsigned rotary_threads = 256;
// The intended number of vectors per thread. With fewer vectors per thread, most threads wait for the sines
// that a few threads compute.
constexpr unsigned vectors_per_thread = 4;
constexpr unsigned max_angles = 2048;  // per block

// The work of one block of threads: a number of frequencies of each head, and enough rows to occupy the
// threads.
struct BlockWork {
    unsigned frequencies = 0;
    unsigned rows = 0;
};

// `half` is the number of channel pairs of a head, `width` the number of elements of a vector.
BlockWork plan_block_work(std::size_t half, std::size_t heads, unsigned width) {
    const std::size_t frequencies = half < max_angles / 4 ? half : max_angles / 4;
    const std::size_t vectors_per_row = frequencies / width * heads;
    const std::size_t wanted_rows = gpu::divide_round_up(rotary_threads * vectors_per_thread, vectors_per_row);
    const std::size_t max_rows = max_angles / frequencies;
    return {.frequencies = static_cast<unsigned>(frequencies),
            .rows = static_cast<unsigned>(wanted_rows < max_rows ? wanted_rows : max_rows)};
}

template <class T>
struct RotaryCall {
    device::Elements<T> values;
    const std::int32_t* positions;
    const double* frequencies;
    std::size_t half;  // channel pairs per head: half of its channels
    bool is_backward;
    BlockWork block_work;
};

// Rounds each angle to double (__dmul_rn) before taking its sine. If the compiler fused the multiplication into
// an FMA, rows at large positions would be rotated by another angle than on other backends.
template <class W>
__device__ void compute_sine_cosine(std::int32_t position, double frequency, bool is_backward, W& cosine,
                                    W& sine) {
    double exact_sine = 0;
    double exact_cosine = 0;
    sincos(__dmul_rn(position, frequency), &exact_sine, &exact_cosine);
    cosine = static_cast<W>(exact_cosine);
    sine = static_cast<W>(is_backward ? -exact_sine : exact_sine);
}

template <unsigned width, class T>
__device__ void rotate_vectors(T* first, T* second, const Accumulator<T>* cosines,
                               const Accumulator<T>* sines) {
    auto x = gpu::load<width>(first);
    auto y = gpu::load<width>(second);
    for (unsigned i = 0; i < width; ++i) {
        const Accumulator<T> old_x = x[i];
        x.set(i, old_x * cosines[i] - y[i] * sines[i]);
        y.set(i, y[i] * cosines[i] + old_x * sines[i]);
    }
    gpu::store(first, x);
    gpu::store(second, y);
}

template <unsigned width, class T>
__global__ void __launch_bounds__(rotary_threads) rotate_rows(RotaryCall<T> op) {
    const std::size_t first_row = std::size_t{blockIdx.x} * op.block_work.rows;
    const std::size_t first_frequency = std::size_t{blockIdx.y} * op.block_work.frequencies;
    const std::size_t rows_left = op.values.rows - first_row;
    const std::size_t frequencies_left = op.half - first_frequency;
    const auto rows = static_cast<unsigned>(rows_left < op.block_work.rows ? rows_left : op.block_work.rows);
    const auto count = static_cast<unsigned>(
        frequencies_left < op.block_work.frequencies ? frequencies_left : op.block_work.frequencies);
    Accumulator<T>* const cosines = gpu::shared_memory<Accumulator<T>>();
    Accumulator<T>* const sines = cosines + rows * count;
    for (unsigned n = threadIdx.x; n < rows * count; n += blockDim.x) {
        compute_sine_cosine(op.positions[first_row + n / count], op.frequencies[first_frequency + n % count],
                            op.is_backward, cosines[n], sines[n]);
    }
    __syncthreads();
    const unsigned vectors_per_head = count / width;
    const std::size_t vectors_per_row = op.values.columns / (2 * op.half) * vectors_per_head;
    for (std::size_t n = threadIdx.x; n < rows * vectors_per_row; n += blockDim.x) {
        const auto row = static_cast<unsigned>(n / vectors_per_row);
        const std::size_t head = n % vectors_per_row / vectors_per_head;
        const auto c = static_cast<unsigned>(n % vectors_per_head) * width;
        T* const first = op.values.row(first_row + row) + head * 2 * op.half + first_frequency + c;
        const unsigned angle = row * count + c;  // index of the vector's first angle
        rotate_vectors<width>(first, first + op.half, cosines + angle, sines + angle);
    }
}

}  // namespace

void run(device::CudaStream& stream, const Rotary& op) {
    const std::size_t half = op.frequencies.size();
    const std::size_t heads = op.values.columns / (2 * half);
    if (heads == 0 || op.values.rows == 0) return;
    gpu::visit_type(op.values.dtype, [&]<class T>(T) {
        RotaryCall<T> call{.values = gpu::get_elements<T>(op.values),
                           .positions = gpu::get_elements<std::int32_t>(op.positions).data,
                           .frequencies = stream.work->upload(op.frequencies),
                           .half = half,
                           .is_backward = op.is_backward,
                           .block_work = {}};
        gpu::visit_width<T>(half % gpu::vector_width<T> == 0 && gpu::may_use_vectors<T>(call.values),
                            [&]<unsigned width>(std::integral_constant<unsigned, width>) {
                                call.block_work = plan_block_work(half, heads, width);
                                const std::size_t angles =
                                    std::size_t{call.block_work.rows} * call.block_work.frequencies;
                                const device::GpuGrid grid{
                                    .blocks_x = gpu::count_blocks(call.values.rows, call.block_work.rows),
                                    .blocks_y = gpu::count_blocks(half, call.block_work.frequencies),
                                    .threads = rotary_threads,
                                    .shared_bytes = 2 * angles * sizeof(Accumulator<T>)};
                                gpu::launch_kernel(stream, grid, rotate_rows<width, T>, call);
                            });
    });
}

}  // namespace trireme::kernels
