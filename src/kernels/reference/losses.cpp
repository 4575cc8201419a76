// Reference implementation: plain loops, sums in double.
//   loss = log(sum_v exp(logit_v)) - sum_v share_v logit_v,   d loss / d logit_v = softmax_v - share_v
//   share_v = (1 - smoothing) [v == target] + smoothing / vocabulary

#include <algorithm>
#include <cmath>

#include "kernels/index_check.hpp"
#include "kernels/span_rows.hpp"
#include "trireme/kernels/cross_entropy.hpp"
#include "trireme/kernels/span_loss.hpp"

namespace trireme::kernels {
namespace {

template <class T>
double log_of_sum(const T* logits, std::size_t vocabulary) {
    const double largest = *std::max_element(logits, logits + vocabulary);
    double sum = 0;
    for (std::size_t v = 0; v < vocabulary; ++v) sum += std::exp(logits[v] - largest);
    return largest + std::log(sum);
}

template <class T>
double mean_of(const T* logits, std::size_t vocabulary) {
    double sum = 0;
    for (std::size_t v = 0; v < vocabulary; ++v) sum += logits[v];
    return sum / static_cast<double>(vocabulary);
}

template <class T>
void one_row(const CrossEntropy& op, std::size_t r) {
    T* logits = op.logits.as<T>().row(r);
    const std::size_t vocabulary = op.logits.columns;
    const std::int32_t target = op.targets.as<std::int32_t>()[r];
    double& loss = op.losses.as<double>()[r];
    if (op.choices.is_present()) {
        const auto choice = std::max_element(logits, logits + vocabulary) - logits;
        op.choices.as<std::int32_t>()[r] = static_cast<std::int32_t>(choice);
    }
    if (target == no_target) {
        loss = 0;
        if (op.gradient_scale != 0) std::fill_n(logits, vocabulary, T{0});
        return;
    }
    const auto right = static_cast<std::size_t>(target);
    const double log_sum = log_of_sum(logits, vocabulary);
    loss = log_sum - (1 - op.smoothing) * logits[right];
    if (op.smoothing > 0) loss -= op.smoothing * mean_of(logits, vocabulary);
    if (op.gradient_scale == 0) return;
    const double everyone = op.smoothing / static_cast<double>(vocabulary);
    for (std::size_t v = 0; v < vocabulary; ++v) {
        const double share = everyone + (v == right ? 1 - op.smoothing : 0);
        logits[v] = static_cast<T>(op.gradient_scale * (std::exp(logits[v] - log_sum) - share));
    }
}

}  // namespace

void run(device::ReferenceStream&, const CrossEntropy& op) {
    check_indices(op);
    visit_float(op.logits.dtype, [&](auto zero) {
        for (std::size_t r = 0; r < op.logits.rows; ++r) one_row<decltype(zero)>(op, r);
    });
}

void run(device::ReferenceStream&, const SpanLoss& op) { run_spans(op); }

void run(device::ReferenceStream&, const BestSpan& op) { run_spans(op); }

}  // namespace trireme::kernels
