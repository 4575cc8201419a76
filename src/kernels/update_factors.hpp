// Scalar factors of an update, computed once in double and rounded to T.
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
          rest1(static_cast<T>(1 - op.beta1)),
          rest2(static_cast<T>(1 - op.beta2)),
          rate(static_cast<T>(op.rate / (1 - std::pow(op.beta1, static_cast<double>(op.step))))),
          inv_correction2(static_cast<T>(1 / (1 - std::pow(op.beta2, static_cast<double>(op.step))))),
          epsilon(static_cast<T>(op.epsilon)),
          decay(static_cast<T>(1 - op.rate * op.weight_decay)) {}

    friend bool operator==(const AdamWFactors&, const AdamWFactors&) = default;

    T scale, beta1, beta2, rest1, rest2, rate, inv_correction2, epsilon, decay;
};

template <class T>
struct SgdFactors {
    explicit SgdFactors(const SgdUpdate& op)
        : scale(static_cast<T>(op.gradient_scale)),
          rate(static_cast<T>(op.rate)),
          momentum(static_cast<T>(op.momentum)),
          decay(static_cast<T>(op.weight_decay)) {}

    friend bool operator==(const SgdFactors&, const SgdFactors&) = default;

    T scale, rate, momentum, decay;
};

// Returns the factors of updates that run in one launch; the decay is that of the first update. Throws BugError
// if other factors differ.
template <class Factors, class Op>
Factors common_factors(std::span<const Op> ops) {
    const Factors factors(ops.front());
    for (Op op : ops) {
        op.weight_decay = ops.front().weight_decay;
        if (!(Factors(op) == factors)) throw BugError("updates with different factors were begun as one");
    }
    return factors;
}

}  // namespace trireme::kernels
