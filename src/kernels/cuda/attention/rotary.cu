// A block rotates several rows. Its threads first compute the sines and cosines of these rows in shared memory,
// once for all heads, and then rotate vectors of channel pairs.
#include "kernels/cuda/support/elementwise.cuh"
#include "trireme/kernels/rotary.hpp"

namespace trireme::kernels {
namespace {

using gpu::Vector;
using gpu::Wide;

constexpr unsigned turn_threads = 256;
constexpr unsigned vectors_of_thread = 4;  // target: with fewer, most threads wait for the sines of a few
constexpr unsigned most_angles = 2048;     // per block

// The work of one block: a number of frequencies of a head, and enough rows to occupy its threads.
struct Share {
    unsigned frequencies = 0;
    unsigned rows = 0;
};

Share share_of_block(std::size_t half, std::size_t heads, unsigned width) {
    const std::size_t frequencies = half < most_angles / 4 ? half : most_angles / 4;
    const std::size_t vectors_of_row = frequencies / width * heads;
    const std::size_t wanted = gpu::parts(turn_threads * vectors_of_thread, vectors_of_row);
    const std::size_t most = most_angles / frequencies;
    return {.frequencies = static_cast<unsigned>(frequencies),
            .rows = static_cast<unsigned>(wanted < most ? wanted : most)};
}

template <class T>
struct Turn {
    device::Elements<T> values;
    const std::int32_t* positions;
    const double* frequencies;
    std::size_t half;
    bool is_backward;
    Share share;
};

// Rounds each angle (__dmul_rn) before taking its sine. With an FMA, large positions would rotate by another
// angle.
template <class W>
__device__ void make_angles(std::int32_t position, double frequency, bool is_backward, W& cosine, W& sine) {
    double exact_sine = 0;
    double exact_cosine = 0;
    sincos(__dmul_rn(position, frequency), &exact_sine, &exact_cosine);
    cosine = static_cast<W>(exact_cosine);
    sine = static_cast<W>(is_backward ? -exact_sine : exact_sine);
}

template <unsigned width, class T>
__device__ void turn_vectors(T* first, T* second, const Wide<T>* cosines, const Wide<T>* sines) {
    auto x = gpu::load<width>(first);
    auto y = gpu::load<width>(second);
    for (unsigned i = 0; i < width; ++i) {
        const Wide<T> before = x[i];
        x.set(i, before * cosines[i] - y[i] * sines[i]);
        y.set(i, y[i] * cosines[i] + before * sines[i]);
    }
    gpu::store(first, x);
    gpu::store(second, y);
}

template <unsigned width, class T>
__global__ void __launch_bounds__(turn_threads) turn_rows(Turn<T> op) {
    const std::size_t first_row = std::size_t{blockIdx.x} * op.share.rows;
    const std::size_t first_frequency = std::size_t{blockIdx.y} * op.share.frequencies;
    const std::size_t rows_left = op.values.rows - first_row;
    const std::size_t frequencies_left = op.half - first_frequency;
    const auto rows = static_cast<unsigned>(rows_left < op.share.rows ? rows_left : op.share.rows);
    const auto count = static_cast<unsigned>(frequencies_left < op.share.frequencies ? frequencies_left
                                                                                     : op.share.frequencies);
    Wide<T>* const cosines = gpu::shared_memory<Wide<T>>();
    Wide<T>* const sines = cosines + rows * count;
    for (unsigned n = threadIdx.x; n < rows * count; n += blockDim.x) {
        make_angles(op.positions[first_row + n / count], op.frequencies[first_frequency + n % count],
                    op.is_backward, cosines[n], sines[n]);
    }
    __syncthreads();
    const unsigned vectors_of_head = count / width;
    const std::size_t vectors_of_row = op.values.columns / (2 * op.half) * vectors_of_head;
    for (std::size_t n = threadIdx.x; n < rows * vectors_of_row; n += blockDim.x) {
        const auto row = static_cast<unsigned>(n / vectors_of_row);
        const std::size_t head = n % vectors_of_row / vectors_of_head;
        const auto c = static_cast<unsigned>(n % vectors_of_head) * width;
        T* const first = op.values.row(first_row + row) + head * 2 * op.half + first_frequency + c;
        const unsigned angle = row * count + c;
        turn_vectors<width>(first, first + op.half, cosines + angle, sines + angle);
    }
}

}  // namespace

void run(device::CudaStream& stream, const Rotary& op) {
    const std::size_t half = op.frequencies.size();
    const std::size_t heads = op.values.columns / (2 * half);
    if (heads == 0 || op.values.rows == 0) return;
    gpu::visit_type(op.values.dtype, [&]<class T>(T) {
        Turn<T> turn{.values = gpu::elements<T>(op.values),
                     .positions = gpu::elements<std::int32_t>(op.positions).data,
                     .frequencies = stream.work->tell(op.frequencies),
                     .half = half,
                     .is_backward = op.is_backward,
                     .share = {}};
        gpu::visit_width<T>(
            half % gpu::vector_width<T> == 0 && gpu::has_vectors<T>(turn.values),
            [&]<unsigned width>(std::integral_constant<unsigned, width>) {
                turn.share = share_of_block(half, heads, width);
                const std::size_t angles = std::size_t{turn.share.rows} * turn.share.frequencies;
                const device::GpuGrid grid{.blocks_x = gpu::blocks_for(turn.values.rows, turn.share.rows),
                                           .blocks_y = gpu::blocks_for(half, turn.share.frequencies),
                                           .threads = turn_threads,
                                           .shared_bytes = 2 * angles * sizeof(Wide<T>)};
                gpu::start(stream, grid, turn_rows<width, T>, turn);
            });
    });
}

}  // namespace trireme::kernels
