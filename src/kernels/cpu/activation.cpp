#include "trireme/kernels/activation.hpp"

#include <cmath>

#include "kernels/cpu/exponential.hpp"
#include "kernels/cpu/gaussian.hpp"
#include "kernels/cpu/parallel.hpp"

namespace trireme::kernels {
namespace {

// Uses (1 + tanh(u)) / 2 = 1 / (1 + exp(-2 u)), which needs one exponential and no hyperbolic function.
template <class T>
struct GeluTanh {
    static constexpr T linear = static_cast<T>(2 * 0.79788456080286535588);  // 2 sqrt(2 / pi)
    static constexpr T cubic = linear * static_cast<T>(0.044715);

    static T share(T x) { return 1 / (1 + cpu::exponential(-x * (linear + cubic * x * x))); }
    static T value(T x) { return x * share(x); }
    static T slope(T x) {
        const T s = share(x);
        return s + x * s * (1 - s) * (linear + 3 * cubic * x * x);
    }
};

template <class T>
struct Gelu {
    static constexpr T peak = static_cast<T>(0.39894228040143267794);  // density at 0: 1 / sqrt(2 pi)

    static T value(T x) { return x * cpu::gaussian(x).share; }
    static T slope(T x) {
        const cpu::Gaussian<T> at = cpu::gaussian(x);
        return at.share + x * (peak * at.bell);
    }
};

// Uses tanh(x) = (exp(2 x) - 1) / (exp(2 x) + 1), whose numerator is computed without cancellation near zero.
// The derivative is 4 exp(-2 x) / (1 + exp(-2 x))^2, which is even in x.
template <class T>
struct Tanh {
    static constexpr T flat = 20;  // beyond it the result is 1

    static T value(T x) {
        const T above = x > flat ? flat : x;
        const T bounded = above < -flat ? -flat : above;
        const T grown = cpu::exponential_minus_one(2 * bounded);
        return grown / (grown + 2);
    }
    static T slope(T x) {
        const T shrunk = cpu::exponential(-2 * std::abs(x));
        return 4 * shrunk / ((1 + shrunk) * (1 + shrunk));
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
            for (std::size_t c = 0; c < input.columns; ++c) dx[c] = dy[c] * Function::slope(x[c]);
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
