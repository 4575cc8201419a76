// Computes the change of a weight per input channel. The sums are computed in double, the type of the result.
#include "kernels/cuda/support/column_sums.cuh"
#include "kernels/cuda/support/sums.cuh"
#include "trireme/kernels/linear.hpp"

namespace trireme::kernels {
namespace {

constexpr unsigned row_threads = 256;

// The absolute differences between a weight and its old value. They are the terms of sum_rows() if each input
// channel is a column, and of add_row_change() if each input channel is a row.
template <class T>
struct Distances {
    using Element = T;
    using Sum = double;
    static constexpr unsigned count = 1;
    device::Elements<const T> weight;
    device::Elements<const T> old_weight;

    __host__ __device__ std::size_t rows() const { return weight.rows; }
    __host__ __device__ std::size_t columns() const { return weight.columns; }
    bool may_use_vectors() const { return gpu::may_use_vectors<T>(weight, old_weight); }
    template <unsigned width>
    __device__ void add(std::size_t row, std::size_t column, double (&sums)[1][width]) const {
        const auto new_values = gpu::load<width>(weight, row, column);
        const auto old_values = gpu::load<width>(old_weight, row, column);
        for (unsigned i = 0; i < width; ++i)
            sums[0][i] += std::abs(static_cast<double>(new_values[i]) - static_cast<double>(old_values[i]));
    }
};

// Adds the sum of each row to change[row], with one block of threads per row.
template <class T>
__global__ void __launch_bounds__(row_threads) add_row_change(Distances<T> distances, double* change) {
    double sums[1][1] = {};
    for (std::size_t c = threadIdx.x; c < distances.columns(); c += blockDim.x)
        distances.template add<1>(blockIdx.x, c, sums);
    const double sum = gpu::sum_over_block(sums[0][0]);
    if (threadIdx.x == 0) change[blockIdx.x] += sum;
}

}  // namespace

void run(device::CudaStream& stream, const ChannelChange& op) {
    double* const change = gpu::get_elements<double>(op.change).data;
    gpu::visit_type(op.weight.dtype, [&]<class T>(T) {
        const Distances<T> distances{gpu::get_elements<T>(op.weight), gpu::get_elements<T>(op.old_weight)};
        if (op.axes == WeightAxes::in_out) {
            gpu::launch_kernel(stream,
                               {.blocks_x = gpu::count_blocks(distances.rows(), 1), .threads = row_threads},
                               add_row_change<T>, distances, change);
        } else {
            gpu::sum_rows(stream, distances, gpu::AddTo<double, 1>{change});
        }
    });
}

}  // namespace trireme::kernels
