#include "trireme/kernels/activation.hpp"

#include <cmath>

#include "kernels/cpu/exponential.hpp"
#include "kernels/cpu/gaussian.hpp"
#include "kernels/cpu/parallel.hpp"

namespace trireme::kernels {
namespace {

// gelu_tanh(x) = x cdf(x). Here cdf(x) = (1 + tanh(u)) / 2 approximates the normal distribution function, with
// u = sqrt(2 / pi) (x + 0.044715 x^3). The struct computes cdf(x) as 1 / (1 + exp(-2 u)), which needs
// one exponential and no hyperbolic function.
template <class T>
struct GeluTanh {
    static constexpr T linear =
        static_cast<T>(2 * 0.79788456080286535588);                // factor of x in 2 u: 2 sqrt(2 / pi)
    static constexpr T cubic = linear * static_cast<T>(0.044715);  // factor of x^3 in 2 u

    static T cdf(T x) { return 1 / (1 + cpu::exponential(-x * (linear + cubic * x * x))); }
    static T value(T x) { return x * cdf(x); }
    static T derivative(T x) {
        const T s = cdf(x);
        return s + x * s * (1 - s) * (linear + 3 * cubic * x * x);
    }
};

template <class T>
struct Gelu {
    static constexpr T peak = static_cast<T>(0.39894228040143267794);  // normal density at 0: 1 / sqrt(2 pi)

    static T value(T x) { return x * cpu::evaluate_gaussian(x).cdf; }
    static T derivative(T x) {
        const cpu::Gaussian<T> normal = cpu::evaluate_gaussian(x);
        return normal.cdf + x * (peak * normal.bell);
    }
};

// tanh(x) = (exp(2 x) - 1) / (exp(2 x) + 1); the numerator is computed without cancellation near zero. The
// derivative is 4 exp(-2 |x|) / (1 + exp(-2 |x|))^2.
template <class T>
struct Tanh {
    static constexpr T max_magnitude = 20;  // tanh(x) rounds to 1 or -1 if |x| is larger

    static T value(T x) {
        const T upper_bounded = x > max_magnitude ? max_magnitude : x;
        const T clamped = upper_bounded < -max_magnitude ? -max_magnitude : upper_bounded;
        const T exp_minus_one = cpu::exponential_minus_one(2 * clamped);
        return exp_minus_one / (exp_minus_one + 2);
    }
    static T derivative(T x) {
        const T exp_negative = cpu::exponential(-2 * std::abs(x));
        return 4 * exp_negative / ((1 + exp_negative) * (1 + exp_negative));
    }
};

// Calls `use(Function{})` with the function of `kind`.
template <class T, class Use>
void visit_function(ActivationKind kind, const Use& use) {
    switch (kind) {
        case ActivationKind::gelu_tanh:
            return use(GeluTanh<T>{});
        case ActivationKind::gelu:
            return use(Gelu<T>{});
        case ActivationKind::tanh:
            return use(Tanh<T>{});
    }
}

template <class Function, class T>
void activate(int threads, const device::Elements<const T>& input, const device::Elements<T>& output) {
    cpu::for_each_rows(threads, input.rows, input.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) {
            const T* x = input.row(r);
            T* y = output.row(r);
#pragma omp simd
            for (std::size_t c = 0; c < input.columns; ++c) y[c] = Function::value(x[c]);
        }
    });
}

template <class Function, class T>
void activate_backward(int threads, const device::Elements<const T>& input,
                       const device::Elements<const T>& grad_output, const device::Elements<T>& grad_input) {
    cpu::for_each_rows(threads, input.rows, input.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) {
            const T* x = input.row(r);
            const T* dy = grad_output.row(r);
            T* dx = grad_input.row(r);
#pragma omp simd
            for (std::size_t c = 0; c < input.columns; ++c) dx[c] = dy[c] * Function::derivative(x[c]);
        }
    });
}

}  // namespace

void run(device::CpuStream& stream, const Activation& op) {
    visit_float(op.input.dtype, [&](auto zero) {
        using T = decltype(zero);
        visit_function<T>(op.kind, [&](auto function) {
            activate<decltype(function)>(stream.threads, op.input.as<T>(), op.output.as<T>());
        });
    });
}

void run(device::CpuStream& stream, const ActivationBackward& op) {
    visit_float(op.input.dtype, [&](auto zero) {
        using T = decltype(zero);
        visit_function<T>(op.kind, [&](auto function) {
            activate_backward<decltype(function)>(stream.threads, op.input.as<T>(), op.grad_output.as<T>(),
                                                  op.grad_input.as<T>());
        });
    });
}

}  // namespace trireme::kernels
