// Calls of the reference backend, and numerical derivatives to check its backward operations.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "operands.hpp"
#include "trireme/device/stream.hpp"

namespace trireme::kernels {

// Runs an operation like launch(), but without a ledger.
template <class Op>
void run_reference(const Op& op) {
    op.check();
    device::ReferenceStream stream;
    run(stream, op);
}

inline double largest_magnitude(const device::ConstTensor& tensor) {
    double largest = 0;
    for (const double value : values(tensor)) largest = std::max(largest, std::abs(value));
    return largest;
}

// Returns the sum of the elementwise products: a loss whose gradient with respect to `a` is `b`.
inline double dot(const device::ConstTensor& a, const device::ConstTensor& b) {
    double sum = 0;
    for (std::size_t r = 0; r < a.rows; ++r) {
        for (std::size_t c = 0; c < a.columns; ++c) sum += get(a, r, c) * get(b, r, c);
    }
    return sum;
}

// Compares `gradient` with the central differences of `loss()` at every element of `variable` (f64).
template <class Loss>
void expect_gradient(const std::string& name, const device::ConstTensor& gradient,
                     const device::Tensor& variable, Loss&& loss) {
    // The error of the differences is step^2 times a third derivative plus 1e-16 / step, both about 1e-10 here.
    constexpr double step = 1e-5;
    const double tolerance = 1e-7 * std::max(1e-2, largest_magnitude(gradient));
    for (std::size_t r = 0; r < variable.rows; ++r) {
        for (std::size_t c = 0; c < variable.columns; ++c) {
            const double here = get(variable, r, c);
            set(variable, r, c, here + step);
            const double above = loss();
            set(variable, r, c, here - step);
            const double below = loss();
            set(variable, r, c, here);
            ASSERT_NEAR(get(gradient, r, c), (above - below) / (2 * step), tolerance)
                << name << " of row " << r << ", column " << c;
        }
    }
}

// Calls check() of an operation and returns the message that it throws.
template <class Op>
std::string refusal(const Op& op) {
    try {
        op.check();
    } catch (const BugError& error) {
        return error.what();
    }
    return "nothing is wrong";
}

}  // namespace trireme::kernels
