// Reference implementation: plain loops in double.
#include "trireme/kernels/activation.hpp"

#include <cmath>
#include <numbers>

namespace trireme::kernels {
namespace {

constexpr double cubic = 0.044715;
const double inner_scale = std::sqrt(2 * std::numbers::inv_pi);

double gelu_tanh(double x) { return x / 2 * (1 + std::tanh(inner_scale * (x + cubic * x * x * x))); }

// The derivative of x/2 (1 + t), where t = tanh(u), u = inner_scale (x + cubic x^3) and
// dt/dx = (1 - t^2) du/dx.
double gelu_tanh_derivative(double x) {
    const double t = std::tanh(inner_scale * (x + cubic * x * x * x));
    return (1 + t) / 2 + x / 2 * (1 - t * t) * inner_scale * (1 + 3 * cubic * x * x);
}

// normal_cdf() uses erfc, which stays precise where erf is almost -1. The next two functions use long double:
// for large |x|, rounding -x^2 / 2 to double would lose up to three digits of exp(-x^2 / 2).
double normal_cdf(long double x) { return static_cast<double>(std::erfc(-x * std::sqrt(0.5L)) / 2); }
double normal_density(long double x) {
    return static_cast<double>(std::exp(-x * x / 2) * std::numbers::inv_sqrtpi_v<long double> *
                               std::sqrt(0.5L));
}

double gelu(double x) { return x * normal_cdf(x); }
double gelu_derivative(double x) { return normal_cdf(x) + x * normal_density(x); }

double tanh_derivative(double x) { return 1 / (std::cosh(x) * std::cosh(x)); }

double evaluate_activation(ActivationKind kind, double x) {
    switch (kind) {
        case ActivationKind::gelu_tanh:
            return gelu_tanh(x);
        case ActivationKind::gelu:
            return gelu(x);
        case ActivationKind::tanh:
            return std::tanh(x);
    }
    throw BugError(cat("unknown activation ", static_cast<int>(kind)));
}

double evaluate_derivative(ActivationKind kind, double x) {
    switch (kind) {
        case ActivationKind::gelu_tanh:
            return gelu_tanh_derivative(x);
        case ActivationKind::gelu:
            return gelu_derivative(x);
        case ActivationKind::tanh:
            return tanh_derivative(x);
    }
    throw BugError(cat("unknown activation ", static_cast<int>(kind)));
}

template <class T>
void forward(const Activation& op) {
    const auto input = op.input.as<T>();
    const auto output = op.output.as<T>();
    for (std::size_t r = 0; r < input.rows; ++r) {
        for (std::size_t c = 0; c < input.columns; ++c) {
            output(r, c) = static_cast<T>(evaluate_activation(op.kind, input(r, c)));
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
            grad_input(r, c) = static_cast<T>(grad_output(r, c) * evaluate_derivative(op.kind, input(r, c)));
        }
    }
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

template <class T>
void gate_forward(const SiluGate& op) {
    const auto gate = op.gate.as<T>();
    const auto up = op.up.as<T>();
    const auto output = op.output.as<T>();
    for (std::size_t r = 0; r < gate.rows; ++r) {
        for (std::size_t c = 0; c < gate.columns; ++c) {
            output(r, c) = static_cast<T>(gate(r, c) * logistic(gate(r, c)) * up(r, c));
        }
    }
}

// The derivative of x s is s + x s (1 - s), with s = logistic(x) and 1 - s = logistic(-x).
template <class T>
void gate_backward(const SiluGateBackward& op) {
    const auto gate = op.gate.as<T>();
    const auto up = op.up.as<T>();
    const auto grad_output = op.grad_output.as<T>();
    for (std::size_t r = 0; r < gate.rows; ++r) {
        for (std::size_t c = 0; c < gate.columns; ++c) {
            const double x = gate(r, c);
            const double derivative = logistic(x) + x * logistic(x) * logistic(-x);
            op.grad_gate.as<T>()(r, c) = static_cast<T>(grad_output(r, c) * derivative * up(r, c));
            op.grad_up.as<T>()(r, c) = static_cast<T>(grad_output(r, c) * x * logistic(x));
        }
    }
}

}  // namespace

void run(device::ReferenceStream&, const Activation& op) {
    visit_float(op.input.dtype, [&](auto zero) { forward<decltype(zero)>(op); });
}

void run(device::ReferenceStream&, const ActivationBackward& op) {
    visit_float(op.input.dtype, [&](auto zero) { backward<decltype(zero)>(op); });
}

void run(device::ReferenceStream&, const SiluGate& op) {
    visit_float(op.gate.dtype, [&](auto zero) { gate_forward<decltype(zero)>(op); });
}

void run(device::ReferenceStream&, const SiluGateBackward& op) {
    visit_float(op.gate.dtype, [&](auto zero) { gate_backward<decltype(zero)>(op); });
}

}  // namespace trireme::kernels
