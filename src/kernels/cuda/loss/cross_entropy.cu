// One block per row. The logits are read once for the loss and the choice, and once more for gradients.
#include "kernels/cuda/loss/logit_row.cuh"
#include "trireme/kernels/cross_entropy.hpp"

namespace trireme::kernels {
namespace {

using gpu::Wide;

template <class T>
struct Rows {
    device::Elements<T> logits;
    const std::int32_t* targets;
    double* losses;
    std::int32_t* choices;  // or nullptr
    double gradient_scale;
    double smoothing;
};

// Uses differences from the largest logit, which keep precision if all logits are large.
template <class W>
__device__ double loss_of(const gpu::LogitSums<W>& sums, double target_logit, double mean, double smoothing) {
    const auto largest = static_cast<double>(sums.largest);
    double right = (1 - smoothing) * (target_logit - largest);
    if (smoothing > 0) right += smoothing * (mean - largest);
    return std::log(static_cast<double>(sums.exp_sum)) - right;
}

template <class T>
__device__ void write_gradient(const Rows<T>& op, T* x, unsigned place, const gpu::LogitSums<Wide<T>>& sums) {
    using W = Wide<T>;
    const auto columns = static_cast<unsigned>(op.logits.columns);
    const double scale = op.gradient_scale;
    gpu::write_gradient<T>(x, columns, place,
                           {.shift = sums.largest,
                            .rest = 0,
                            .factor = static_cast<W>(scale / static_cast<double>(sums.exp_sum)),
                            .everyone = static_cast<W>(scale * op.smoothing / columns),
                            .right = static_cast<W>(scale * (1 - op.smoothing))});
}

// A target beyond the vocabulary makes the loss NaN; other backends throw.
template <class T>
__global__ void __launch_bounds__(gpu::most_row_threads) cross_entropy(Rows<T> op) {
    using W = Wide<T>;
    T* const x = op.logits.row(blockIdx.x);
    const auto columns = static_cast<unsigned>(op.logits.columns);
    const std::int32_t target = op.targets[blockIdx.x];
    const bool has_target = target != no_target;
    if (has_target || op.choices != nullptr) {
        const unsigned place = gpu::column_of(target, 0, columns);
        const W target_logit = place < columns ? static_cast<W>(x[place]) : std::numeric_limits<W>::quiet_NaN();
        const W pivot = gpu::pivot_of(x);
        const gpu::LogitSums<W> sums = gpu::sums_of_row(x, columns, pivot);
        if (threadIdx.x == 0) {
            const double mean = static_cast<double>(sums.distances) / columns + static_cast<double>(pivot);
            op.losses[blockIdx.x] =
                has_target ? loss_of(sums, static_cast<double>(target_logit), mean, op.smoothing) : 0;
            if (op.choices != nullptr) op.choices[blockIdx.x] = static_cast<std::int32_t>(sums.choice);
        }
        if (has_target && op.gradient_scale != 0) write_gradient(op, x, place, sums);
    }
    if (has_target) return;
    if (threadIdx.x == 0) op.losses[blockIdx.x] = 0;
    if (op.gradient_scale != 0) gpu::write_zeros(x, columns);
}

}  // namespace

void run(device::CudaStream& stream, const CrossEntropy& op) {
    gpu::visit_type(op.logits.dtype, [&]<class T>(T) {
        const Rows<T> rows{
            .logits = gpu::elements<T>(op.logits),
            .targets = gpu::elements<std::int32_t>(op.targets).data,
            .losses = gpu::elements<double>(op.losses).data,
            .choices = op.choices.is_present() ? gpu::elements<std::int32_t>(op.choices).data : nullptr,
            .gradient_scale = op.gradient_scale,
            .smoothing = op.smoothing};
        gpu::start(stream, gpu::block_a_row_of_logits(op.logits.rows, op.logits.columns), cross_entropy<T>,
                   rows);
    });
}

}  // namespace trireme::kernels
