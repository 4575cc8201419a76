// The oracle: plain loops in double.
#include "trireme/kernels/activation.hpp"

#include <cmath>
#include <numbers>

namespace trireme {
namespace {

constexpr double cubic = 0.044715;
const double slope = std::sqrt(2 * std::numbers::inv_pi);

double gelu_tanh(double x) { return x / 2 * (1 + std::tanh(slope * (x + cubic * x * x * x))); }

// d/dx x/2 (1 + t) with t = tanh(u) and dt/dx = (1 - t^2) du/dx
double gelu_tanh_derivative(double x) {
    const double t = std::tanh(slope * (x + cubic * x * x * x));
    return (1 + t) / 2 + x / 2 * (1 - t * t) * slope * (1 + 3 * cubic * x * x);
}

double value(ActivationKind kind, double x) {
    switch (kind) {
        case ActivationKind::gelu_tanh:
            return gelu_tanh(x);
    }
    throw BugError(cat("unknown activation ", static_cast<int>(kind)));
}

double derivative(ActivationKind kind, double x) {
    switch (kind) {
        case ActivationKind::gelu_tanh:
            return gelu_tanh_derivative(x);
    }
    throw BugError(cat("unknown activation ", static_cast<int>(kind)));
}

template <class T>
void forward(const Activation& op) {
    const auto input = op.input.as<T>();
    const auto output = op.output.as<T>();
    for (std::size_t r = 0; r < input.rows; ++r) {
        for (std::size_t c = 0; c < input.columns; ++c) {
            output(r, c) = static_cast<T>(value(op.kind, input(r, c)));
        }
    }
}

template <class T>
void backward(const ActivationBackward& op) {
    const auto input = op.input.as<T>();
    const auto grad_output = op.grad_output.as<T>();
    const auto grad_input = op.grad_input.as<T>();
    for (std::size_t r = 0; r < input.rows; ++r) {
        for (std::size_t c = 0; c < input.columns; ++c) {
            grad_input(r, c) = static_cast<T>(grad_output(r, c) * derivative(op.kind, input(r, c)));
        }
    }
}

}  // namespace

void run(ReferenceStream&, const Activation& op) {
    visit_float(op.input.dtype, [&](auto zero) { forward<decltype(zero)>(op); });
}

void run(ReferenceStream&, const ActivationBackward& op) {
    visit_float(op.input.dtype, [&](auto zero) { backward<decltype(zero)>(op); });
}

}  // namespace trireme
