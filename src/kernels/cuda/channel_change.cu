// Sums in double, as what they are added to.
#include "kernels/cuda/column_sums.cuh"
#include "kernels/cuda/packs.cuh"
#include "kernels/cuda/sums.cuh"
#include "trireme/kernels/channel_change.hpp"

namespace trireme {
namespace {

constexpr unsigned row_threads = 256;

template <class T>
struct Distance {
    Elements<const T> weight;
    Elements<const T> before;

    __device__ double operator()(std::size_t r, std::size_t c) const {
        return std::abs(gpu::number_as<double>(weight(r, c)) - gpu::number_as<double>(before(r, c)));
    }
};

// Where a channel is a row: a block each.
template <class T>
__global__ void __launch_bounds__(row_threads) add_row_change(Distance<T> distance, double* change) {
    double sum = 0;
    for (std::size_t c = threadIdx.x; c < distance.weight.columns; c += blockDim.x)
        sum += distance(blockIdx.x, c);
    sum = gpu::block_sum(sum);
    if (threadIdx.x == 0) change[blockIdx.x] += sum;
}

}  // namespace

void run(CudaStream& stream, const ChannelChange& op) {
    double* const change = gpu::elements<double>(op.change).data;
    gpu::visit_type(op.weight.dtype, [&]<class T>(T) {
        const Distance<T> distance{gpu::elements<T>(op.weight), gpu::elements<T>(op.before)};
        if (op.axes == WeightAxes::in_out) {
            gpu::start(stream, {.blocks_x = gpu::checked_count(op.weight.rows), .threads = row_threads},
                       add_row_change<T>, distance, change);
        } else {
            gpu::add_column_sums(stream, distance, op.weight.rows, op.weight.columns, change);
        }
    });
}

}  // namespace trireme
