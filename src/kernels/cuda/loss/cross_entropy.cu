// One block of threads per row. The block reads the logits once for the loss and the argmax (the first column
// with the largest logit), and once more for the gradients.
#include "kernels/cuda/loss/logit_row.cuh"
#include "trireme/kernels/cross_entropy.hpp"

namespace trireme::kernels {
namespace {

using gpu::Accumulator;

template <class T>
struct CrossEntropyCall {
    device::Elements<T> logits;
    const std::int32_t* targets;
    double* losses;
    std::int32_t* choices;  // per row: argmax of the logits; nullptr if not requested
    double gradient_scale;
    double smoothing;
};

// `mean` is the mean of the logits. Subtracts the largest logit from all logits, which keeps precision if all
// logits are large.
template <class W>
__device__ double compute_loss(const gpu::LogitSums<W>& sums, double target_logit, double mean,
                               double smoothing) {
    const auto largest = static_cast<double>(sums.largest);
    double weighted_logits = (1 - smoothing) * (target_logit - largest);
    if (smoothing > 0) weighted_logits += smoothing * (mean - largest);
    return std::log(static_cast<double>(sums.exp_sum)) - weighted_logits;
}

// gpu::write_gradient() subtracts a shift from each logit. Here, the shift is the largest logit, which needs no
// rounding, so the rounding error `shift_rest` is 0.
template <class T>
__device__ void write_gradient(const CrossEntropyCall<T>& op, T* x, unsigned target_column,
                               const gpu::LogitSums<Accumulator<T>>& sums) {
    using W = Accumulator<T>;
    const auto columns = static_cast<unsigned>(op.logits.columns);
    const double scale = op.gradient_scale;
    gpu::write_gradient<T>(x, columns, target_column,
                           {.shift = sums.largest,
                            .shift_rest = 0,
                            .factor = static_cast<W>(scale / static_cast<double>(sums.exp_sum)),
                            .smoothing_term = static_cast<W>(scale * op.smoothing / columns),
                            .target_term = static_cast<W>(scale * (1 - op.smoothing))});
}

// A target beyond the vocabulary makes the loss NaN; other backends throw.
template <class T>
__global__ void __launch_bounds__(gpu::max_row_threads) compute_cross_entropy(CrossEntropyCall<T> op) {
    using W = Accumulator<T>;
    T* const x = op.logits.row(blockIdx.x);
    const auto columns = static_cast<unsigned>(op.logits.columns);
    const std::int32_t target = op.targets[blockIdx.x];
    const bool has_target = target != no_target;
    if (has_target || op.choices != nullptr) {
        const unsigned target_column = gpu::find_target_column(target, 0, columns);
        const W target_logit =
            target_column < columns ? static_cast<W>(x[target_column]) : std::numeric_limits<W>::quiet_NaN();
        const W pivot = gpu::choose_pivot(x);
        const gpu::LogitSums<W> sums = gpu::compute_row_sums(x, columns, pivot);
        if (threadIdx.x == 0) {
            // The mean logit is the pivot plus the mean distance from the pivot.
            const double mean = static_cast<double>(sums.distance_sum) / columns + static_cast<double>(pivot);
            op.losses[blockIdx.x] =
                has_target ? compute_loss(sums, static_cast<double>(target_logit), mean, op.smoothing) : 0;
            if (op.choices != nullptr) op.choices[blockIdx.x] = static_cast<std::int32_t>(sums.argmax);
        }
        if (has_target && op.gradient_scale != 0) write_gradient(op, x, target_column, sums);
    }
    if (has_target) return;
    if (threadIdx.x == 0) op.losses[blockIdx.x] = 0;
    if (op.gradient_scale != 0) gpu::write_zeros(x, columns);
}

}  // namespace

void run(device::CudaStream& stream, const CrossEntropy& op) {
    gpu::visit_type(op.logits.dtype, [&]<class T>(T) {
        const CrossEntropyCall<T> call{
            .logits = gpu::get_elements<T>(op.logits),
            .targets = gpu::get_elements<std::int32_t>(op.targets).data,
            .losses = gpu::get_elements<double>(op.losses).data,
            .choices = op.choices.is_present() ? gpu::get_elements<std::int32_t>(op.choices).data : nullptr,
            .gradient_scale = op.gradient_scale,
            .smoothing = op.smoothing};
        gpu::launch_kernel(stream, gpu::make_logit_grid(op.logits.rows, op.logits.columns),
                           compute_cross_entropy<T>, call);
    });
}

}  // namespace trireme::kernels
