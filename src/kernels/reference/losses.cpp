// Reference implementation: plain loops, sums in double.
// The target probability of token v is p_v = (1 - smoothing) [v == target] + smoothing / vocabulary, where
// [v == target] is 1 for the target and 0 for other tokens:
//   loss = log(sum_v exp(logit_v)) - sum_v p_v logit_v        d loss / d logit_v = softmax_v - p_v

#include <algorithm>
#include <cmath>

#include "kernels/index_check.hpp"
#include "kernels/span_rows.hpp"
#include "trireme/kernels/cross_entropy.hpp"
#include "trireme/kernels/span_loss.hpp"

namespace trireme::kernels {
namespace {

template <class T>
double compute_log_sum_exp(const T* logits, std::size_t vocabulary) {
    const double largest = *std::max_element(logits, logits + vocabulary);
    double sum = 0;
    for (std::size_t v = 0; v < vocabulary; ++v) sum += std::exp(logits[v] - largest);
    return largest + std::log(sum);
}

template <class T>
double compute_mean(const T* logits, std::size_t vocabulary) {
    double sum = 0;
    for (std::size_t v = 0; v < vocabulary; ++v) sum += logits[v];
    return sum / static_cast<double>(vocabulary);
}

template <class T>
void process_row(const CrossEntropy& op, std::size_t r) {
    T* logits = op.logits.as<T>().row(r);
    const std::size_t vocabulary = op.logits.columns;
    const std::int32_t target = op.targets.as<std::int32_t>()[r];
    double& loss = op.losses.as<double>()[r];
    if (op.choices.is_present()) {
        const auto argmax = std::max_element(logits, logits + vocabulary) - logits;
        op.choices.as<std::int32_t>()[r] = static_cast<std::int32_t>(argmax);
    }
    if (target == no_target) {
        loss = 0;
        if (op.gradient_scale != 0) std::fill_n(logits, vocabulary, T{0});
        return;
    }
    const auto target_column = static_cast<std::size_t>(target);
    const double log_sum = compute_log_sum_exp(logits, vocabulary);
    loss = log_sum - (1 - op.smoothing) * logits[target_column];
    if (op.smoothing > 0) loss -= op.smoothing * compute_mean(logits, vocabulary);
    if (op.gradient_scale == 0) return;
    const double smoothing_term = op.smoothing / static_cast<double>(vocabulary);
    for (std::size_t v = 0; v < vocabulary; ++v) {
        const double target_probability = smoothing_term + (v == target_column ? 1 - op.smoothing : 0);
        logits[v] = static_cast<T>(op.gradient_scale * (std::exp(logits[v] - log_sum) - target_probability));
    }
}

}  // namespace

void run(device::ReferenceStream&, const CrossEntropy& op) {
    check_indices(op);
    visit_float(op.logits.dtype, [&](auto zero) {
        for (std::size_t r = 0; r < op.logits.rows; ++r) process_row<decltype(zero)>(op, r);
    });
}

void run(device::ReferenceStream&, const SpanLoss& op) { run_spans(op); }

void run(device::ReferenceStream&, const BestSpan& op) { run_spans(op); }

}  // namespace trireme::kernels
