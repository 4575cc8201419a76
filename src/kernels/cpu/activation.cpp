#include "trireme/kernels/activation.hpp"

#include "kernels/cpu/exponential.hpp"
#include "kernels/cpu/parallel.hpp"

namespace trireme {
namespace {

// (1 + tanh(u)) / 2 = 1 / (1 + exp(-2 u)): one exponential and no hyperbolic function.
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
void activate(int threads, const Elements<const T>& input, const Elements<T>& output) {
    cpu::for_each_rows(threads, input.rows, input.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) {
            const T* x = input.row(r);
            T* y = output.row(r);
#pragma omp simd
            for (std::size_t c = 0; c < input.columns; ++c) y[c] = GeluTanh<T>::value(x[c]);
        }
    });
}

template <class T>
void activate_backward(int threads, const Elements<const T>& input, const Elements<const T>& grad_output,
                       const Elements<T>& grad_input) {
    cpu::for_each_rows(threads, input.rows, input.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) {
            const T* x = input.row(r);
            const T* dy = grad_output.row(r);
            T* dx = grad_input.row(r);
#pragma omp simd
            for (std::size_t c = 0; c < input.columns; ++c) dx[c] = dy[c] * GeluTanh<T>::slope(x[c]);
        }
    });
}

}  // namespace

void run(CpuStream& stream, const Activation& op) {
    visit_float(op.input.dtype, [&](auto zero) {
        using T = decltype(zero);
        switch (op.kind) {
            case ActivationKind::gelu_tanh:
                return activate(stream.threads, op.input.as<T>(), op.output.as<T>());
        }
    });
}

void run(CpuStream& stream, const ActivationBackward& op) {
    visit_float(op.input.dtype, [&](auto zero) {
        using T = decltype(zero);
        switch (op.kind) {
            case ActivationKind::gelu_tanh:
                return activate_backward(stream.threads, op.input.as<T>(), op.grad_output.as<T>(),
                                         op.grad_input.as<T>());
        }
    });
}

}  // namespace trireme
