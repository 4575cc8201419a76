// Scalar factors of the update of a tensor, computed once in double and rounded to the tensor's type T.
#pragma once

#include <cmath>

#include "trireme/kernels/update.hpp"

namespace trireme::kernels {

template <class T>
struct AdamWFactors {
    explicit AdamWFactors(const AdamWUpdate& op)
        : scale(static_cast<T>(op.gradient_scale)),
          beta1(static_cast<T>(op.beta1)),
          beta2(static_cast<T>(op.beta2)),
          one_minus_beta1(static_cast<T>(1 - op.beta1)),
          one_minus_beta2(static_cast<T>(1 - op.beta2)),
          corrected_rate(static_cast<T>(op.rate / (1 - std::pow(op.beta1, static_cast<double>(op.step))))),
          inv_correction2(static_cast<T>(1 / (1 - std::pow(op.beta2, static_cast<double>(op.step))))),
          epsilon(static_cast<T>(op.epsilon)),
          decay(static_cast<T>(1 - op.rate * op.weight_decay)) {}

    friend bool operator==(const AdamWFactors&, const AdamWFactors&) = default;

    T scale;  // of the gradient
    T beta1, beta2;
    T one_minus_beta1, one_minus_beta2;
    T corrected_rate;   // learning rate / (1 - beta1^step)
    T inv_correction2;  // 1 / (1 - beta2^step)
    T epsilon;
    T decay;  // factor of a parameter with weight decay: 1 - learning rate * weight decay
};

template <class T>
struct SgdFactors {
    explicit SgdFactors(const SgdUpdate& op)
        : scale(static_cast<T>(op.gradient_scale)),
          rate(static_cast<T>(op.rate)),
          momentum(static_cast<T>(op.momentum)),
          decay(static_cast<T>(op.weight_decay)) {}

    friend bool operator==(const SgdFactors&, const SgdFactors&) = default;

    T scale;  // of the gradient
    T rate;   // learning rate
    T momentum;
    T decay;  // weight decay
};

// Returns the common factors of updates that run in one launch. Throws BugError if the updates differ in a
// factor other than the weight decay. `decay` in the result belongs to the first update; kernels read the
// weight decay of each update separately.
template <class Factors, class Op>
Factors find_common_factors(std::span<const Op> ops) {
    const Factors factors(ops.front());
    for (Op op : ops) {
        op.weight_decay = ops.front().weight_decay;
        if (!(Factors(op) == factors)) throw BugError("updates that run in one launch have different factors");
    }
    return factors;
}

}  // namespace trireme::kernels
