// The numbers of an update, worked out in double once.
#pragma once

#include <cmath>

#include "trireme/kernels/update.hpp"

namespace trireme {

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

    T scale, beta1, beta2, rest1, rest2, rate, inv_correction2, epsilon, decay;
};

template <class T>
struct SgdFactors {
    explicit SgdFactors(const SgdUpdate& op)
        : scale(static_cast<T>(op.gradient_scale)),
          rate(static_cast<T>(op.rate)),
          momentum(static_cast<T>(op.momentum)),
          decay(static_cast<T>(op.weight_decay)) {}

    T scale, rate, momentum, decay;
};

}  // namespace trireme
