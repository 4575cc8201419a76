// The oracle: plain loops, sums in double.
//   loss = log(sum_v exp(logit_v)) - logit_target,   d loss / d logit_v = softmax_v - [v == target]
#include "trireme/kernels/cross_entropy.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/index_check.hpp"

namespace trireme {
namespace {

template <class T>
double log_of_sum(const T* logits, std::size_t vocabulary) {
    const double largest = *std::max_element(logits, logits + vocabulary);
    double sum = 0;
    for (std::size_t v = 0; v < vocabulary; ++v) sum += std::exp(logits[v] - largest);
    return largest + std::log(sum);
}

template <class T>
void one_row(const CrossEntropy& op, std::size_t r) {
    T* logits = op.logits.as<T>().row(r);
    const std::size_t vocabulary = op.logits.columns;
    const std::int32_t target = op.targets.as<std::int32_t>()[r];
    double& loss = op.losses.as<double>()[r];
    if (target == no_target) {
        loss = 0;
        if (op.gradient_scale != 0) std::fill_n(logits, vocabulary, T{0});
        return;
    }
    const auto right = static_cast<std::size_t>(target);
    const double log_sum = log_of_sum(logits, vocabulary);
    loss = log_sum - logits[right];
    if (op.gradient_scale == 0) return;
    for (std::size_t v = 0; v < vocabulary; ++v) {
        const double error = std::exp(logits[v] - log_sum) - (v == right ? 1 : 0);
        logits[v] = static_cast<T>(op.gradient_scale * error);
    }
}

}  // namespace

void run(ReferenceStream&, const CrossEntropy& op) {
    check_indices(op);
    visit_float(op.logits.dtype, [&](auto zero) {
        for (std::size_t r = 0; r < op.logits.rows; ++r) one_row<decltype(zero)>(op, r);
    });
}

}  // namespace trireme
