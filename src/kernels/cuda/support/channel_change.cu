// Sums in double, which is the type of the result.
#include "kernels/cuda/support/column_sums.cuh"
#include "kernels/cuda/support/sums.cuh"
#include "trireme/kernels/linear.hpp"

namespace trireme::kernels {
namespace {

constexpr unsigned row_threads = 256;

template <class T>
struct Distances {
    using Element = T;
    using Sum = double;
    static constexpr unsigned count = 1;
    device::Elements<const T> weight;
    device::Elements<const T> before;

    __host__ __device__ std::size_t rows() const { return weight.rows; }
    __host__ __device__ std::size_t columns() const { return weight.columns; }
    bool has_vectors() const { return gpu::has_vectors<T>(weight, before); }
    template <unsigned width>
    __device__ void add(std::size_t row, std::size_t column, double (&sums)[1][width]) const {
        const auto own = gpu::load<width>(weight, row, column);
        const auto other = gpu::load<width>(before, row, column);
        for (unsigned i = 0; i < width; ++i)
            sums[0][i] += std::abs(static_cast<double>(own[i]) - static_cast<double>(other[i]));
    }
};

// One block per row; each input channel is a row.
template <class T>
__global__ void __launch_bounds__(row_threads) add_row_change(Distances<T> distances, double* change) {
    double sums[1][1] = {};
    for (std::size_t c = threadIdx.x; c < distances.columns(); c += blockDim.x)
        distances.template add<1>(blockIdx.x, c, sums);
    const double sum = gpu::block_sum(sums[0][0]);
    if (threadIdx.x == 0) change[blockIdx.x] += sum;
}

}  // namespace

void run(device::CudaStream& stream, const ChannelChange& op) {
    double* const change = gpu::elements<double>(op.change).data;
    gpu::visit_type(op.weight.dtype, [&]<class T>(T) {
        const Distances<T> distances{gpu::elements<T>(op.weight), gpu::elements<T>(op.before)};
        if (op.axes == WeightAxes::in_out) {
            gpu::start(stream, {.blocks_x = gpu::blocks_for(distances.rows(), 1), .threads = row_threads},
                       add_row_change<T>, distances, change);
        } else {
            gpu::sum_rows(stream, distances, gpu::AddTo<double, 1>{change});
        }
    });
}

}  // namespace trireme::kernels
