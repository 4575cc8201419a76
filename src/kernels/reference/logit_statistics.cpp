// Reference implementation: plain loops, sums in double.
#include "trireme/kernels/logit_statistics.hpp"

#include <cmath>
#include <limits>

#include "kernels/index_check.hpp"
#include "kernels/logit_merge.hpp"

namespace trireme::kernels {
namespace {

template <class T>
void process_row(const LogitStatistics& op, std::size_t r) {
    const T* logits = op.logits.as<T>().row(r);
    const auto target = static_cast<std::int64_t>(op.targets.as<std::int32_t>()[r]);
    // The maximum starts at a finite value. If all logits of this rank are -infinity, `exp_sum` is therefore 0,
    // not NaN. The rank then adds 0 to the sum of exponentials over all ranks.
    double largest = std::numeric_limits<T>::lowest();
    std::size_t argmax = 0;
    double sum = 0;
    double target_logit = 0;
    for (std::size_t v = 0; v < op.logits.columns; ++v) {
        if (logits[v] > largest) {
            largest = logits[v];
            argmax = v;
        }
        sum += logits[v];
        if (static_cast<std::int64_t>(op.first_column + v) == target) target_logit = logits[v];
    }
    double exp_sum = 0;
    for (std::size_t v = 0; v < op.logits.columns; ++v) exp_sum += std::exp(logits[v] - largest);
    double* statistics = op.statistics.as<double>().row(r);
    statistics[logit_field::largest_logit] = largest;
    statistics[logit_field::argmax] = static_cast<double>(op.first_column + argmax);
    statistics[logit_field::exp_sum] = exp_sum;
    statistics[logit_field::logit_sum] = sum;
    statistics[logit_field::target_logit] = target_logit;
}

template <class T>
void process_row(const LogitGradients& op, std::size_t r) {
    T* logits = op.logits.as<T>().row(r);
    const std::int32_t target = op.targets.as<std::int32_t>()[r];
    const double log_sum = op.log_sums.as<double>()[r];
    const double smoothing_term = op.smoothing / static_cast<double>(op.columns);
    for (std::size_t v = 0; v < op.logits.columns; ++v) {
        const bool is_target = static_cast<std::int64_t>(op.first_column + v) == target;
        const double target_probability = smoothing_term + (is_target ? 1 - op.smoothing : 0);
        const double error = target == no_target ? 0 : std::exp(logits[v] - log_sum) - target_probability;
        logits[v] = static_cast<T>(op.gradient_scale * error);
    }
}

}  // namespace

void run(device::ReferenceStream&, const LogitStatistics& op) {
    check_indices(op);
    visit_float(op.logits.dtype, [&](auto zero) {
        for (std::size_t r = 0; r < op.logits.rows; ++r) process_row<decltype(zero)>(op, r);
    });
}

void run(device::ReferenceStream&, const MergeLogitStatistics& op) { merge_logit_statistics(op); }

void run(device::ReferenceStream&, const LogitGradients& op) {
    check_indices(op);
    visit_float(op.logits.dtype, [&](auto zero) {
        for (std::size_t r = 0; r < op.logits.rows; ++r) process_row<decltype(zero)>(op, r);
    });
}

}  // namespace trireme::kernels
