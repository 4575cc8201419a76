// A block a row. Sums go over it twice, for the mean and for the squares around it.
#include "kernels/cuda/column_sums.cuh"
#include "kernels/cuda/sums.cuh"
#include "trireme/kernels/norm.hpp"

namespace trireme {
namespace {

using gpu::Wide;

constexpr unsigned row_threads = 256;

GpuGrid block_a_row(std::size_t rows) {
    return {.blocks_x = static_cast<unsigned>(rows), .threads = row_threads};
}

template <class T>
struct Forward {
    Elements<const T> input;
    const T* gain;
    const T* bias;
    Elements<T> output;
    Wide<T>* mean;
    Wide<T>* inv_std;
    Wide<T> epsilon;
};

template <class T>
__global__ void __launch_bounds__(row_threads) normalise(Forward<T> op) {
    using W = Wide<T>;
    const T* const x = op.input.row(blockIdx.x);
    T* const y = op.output.row(blockIdx.x);
    const auto columns = static_cast<unsigned>(op.input.columns);
    W sum = 0;
    for (unsigned c = threadIdx.x; c < columns; c += blockDim.x) sum += static_cast<W>(x[c]);
    const W mean = gpu::block_sum(sum) / static_cast<W>(columns);
    W squares = 0;
    for (unsigned c = threadIdx.x; c < columns; c += blockDim.x) {
        const W distance = static_cast<W>(x[c]) - mean;
        squares += distance * distance;
    }
    const W inv_std = rsqrt(gpu::block_sum(squares) / static_cast<W>(columns) + op.epsilon);
    for (unsigned c = threadIdx.x; c < columns; c += blockDim.x) {
        const W normal = (static_cast<W>(x[c]) - mean) * inv_std;
        y[c] = static_cast<T>(normal * static_cast<W>(op.gain[c]) + static_cast<W>(op.bias[c]));
    }
    if (threadIdx.x == 0) {
        op.mean[blockIdx.x] = mean;
        op.inv_std[blockIdx.x] = inv_std;
    }
}

template <class T>
struct BackwardInput {
    Elements<const T> input;
    const T* gain;
    const Wide<T>* mean;
    const Wide<T>* inv_std;
    Elements<const T> grad_output;
    Elements<const T> residual;  // without data where it is absent
    Elements<T> grad_input;
};

// With n the normalised row and g = gain * grad_output:
//   grad_input = inv_std * (g - average(g) - n * average(g n))        (+ residual)
template <class T>
__global__ void __launch_bounds__(row_threads) normalise_backward(BackwardInput<T> op) {
    using W = Wide<T>;
    const T* const x = op.input.row(blockIdx.x);
    const T* const dy = op.grad_output.row(blockIdx.x);
    const T* const past = op.residual.data == nullptr ? nullptr : op.residual.row(blockIdx.x);
    T* const dx = op.grad_input.row(blockIdx.x);
    const W mean = op.mean[blockIdx.x];
    const W inv_std = op.inv_std[blockIdx.x];
    const auto columns = static_cast<unsigned>(op.input.columns);
    const auto g = [&](unsigned c) { return static_cast<W>(op.gain[c]) * static_cast<W>(dy[c]); };
    const auto n = [&](unsigned c) { return (static_cast<W>(x[c]) - mean) * inv_std; };
    W sum = 0;
    W sum_normal = 0;
    for (unsigned c = threadIdx.x; c < columns; c += blockDim.x) {
        sum += g(c);
        sum_normal += g(c) * n(c);
    }
    const W average = gpu::block_sum(sum) / static_cast<W>(columns);
    const W slope = gpu::block_sum(sum_normal) / static_cast<W>(columns);
    for (unsigned c = threadIdx.x; c < columns; c += blockDim.x) {
        const W own = inv_std * (g(c) - average - n(c) * slope);
        dx[c] = static_cast<T>(past == nullptr ? own : own + static_cast<W>(past[c]));
    }
}

template <class T>
struct GainTerm {
    Elements<const T> input;
    const Wide<T>* mean;
    const Wide<T>* inv_std;
    Elements<const T> grad_output;

    __device__ Wide<T> operator()(std::size_t r, std::size_t c) const {
        using W = Wide<T>;
        return static_cast<W>(grad_output(r, c)) * (static_cast<W>(input(r, c)) - mean[r]) * inv_std[r];
    }
};

}  // namespace

void run(CudaStream& stream, const LayerNorm& op) {
    gpu::visit_type(op.input.dtype, [&]<class T>(T) {
        using W = Wide<T>;
        const Forward<T> forward{.input = gpu::elements<T>(op.input),
                                 .gain = gpu::elements<T>(op.gain).data,
                                 .bias = gpu::elements<T>(op.bias).data,
                                 .output = gpu::elements<T>(op.output),
                                 .mean = gpu::elements<W>(op.mean).data,
                                 .inv_std = gpu::elements<W>(op.inv_std).data,
                                 .epsilon = static_cast<W>(op.epsilon)};
        gpu::start(stream, block_a_row(op.input.rows), normalise<T>, forward);
    });
}

void run(CudaStream& stream, const LayerNormBackwardInput& op) {
    gpu::visit_type(op.input.dtype, [&]<class T>(T) {
        using W = Wide<T>;
        const BackwardInput<T> backward{.input = gpu::elements<T>(op.input),
                                        .gain = gpu::elements<T>(op.gain).data,
                                        .mean = gpu::elements<W>(op.mean).data,
                                        .inv_std = gpu::elements<W>(op.inv_std).data,
                                        .grad_output = gpu::elements<T>(op.grad_output),
                                        .residual = gpu::elements_or_none<T>(op.residual),
                                        .grad_input = gpu::elements<T>(op.grad_input)};
        gpu::start(stream, block_a_row(op.input.rows), normalise_backward<T>, backward);
    });
}

void run(CudaStream& stream, const LayerNormBackwardWeight& op) {
    gpu::visit_type(op.input.dtype, [&]<class T>(T) {
        using W = Wide<T>;
        const auto grad_output = gpu::elements<T>(op.grad_output);
        const GainTerm<T> gain{.input = gpu::elements<T>(op.input),
                               .mean = gpu::elements<W>(op.mean).data,
                               .inv_std = gpu::elements<W>(op.inv_std).data,
                               .grad_output = grad_output};
        gpu::add_column_sums(stream, gain, grad_output.rows, grad_output.columns,
                             gpu::elements<W>(op.grad_gain).data);
        gpu::add_column_sums(stream, gpu::Element<T>{grad_output}, grad_output.rows, grad_output.columns,
                             gpu::elements<W>(op.grad_bias).data);
    });
}

}  // namespace trireme
