#include <cmath>

#include "kernels/cuda/support/elementwise.cuh"
#include "trireme/kernels/activation.hpp"

namespace trireme::kernels {
namespace {

using gpu::Accumulator;
using gpu::Vector;

// gelu_tanh(x) = x cdf(x). Here, cdf(x) = (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3) is an
// approximation of the normal distribution function. The struct computes cdf(x) as 1 / (1 + exp(-2 u)), which
// needs one exponential and no hyperbolic function.
template <class W>
struct GeluTanh {
    static constexpr W linear =
        static_cast<W>(2 * 0.79788456080286535588);                // factor of x in 2 u: 2 sqrt(2 / pi)
    static constexpr W cubic = linear * static_cast<W>(0.044715);  // factor of x^3 in 2 u
    static constexpr W max_square = 10000;  // bound of x^2: beyond it, cdf is 0 or 1, and x^3 may overflow

    // Returns x^2, but at most max_square.
    static __device__ W square(W x) { return x * x < max_square ? x * x : max_square; }
    static __device__ W cdf(W x) { return 1 / (1 + std::exp(-x * (linear + cubic * square(x)))); }
    static __device__ W value(W x) { return x * cdf(x); }
    static __device__ W derivative(W x) {
        const W s = cdf(x);
        return s + x * s * (1 - s) * (linear + 3 * cubic * square(x));
    }
};

template <class W>
struct Gelu {
    static constexpr W peak = static_cast<W>(0.39894228040143267794);  // density at 0: 1 / sqrt(2 pi)

    static __device__ W value(W x) { return x * normcdf(x); }
    static __device__ W derivative(W x) { return normcdf(x) + x * (peak * std::exp(-x * x / 2)); }
};

template <class W>
struct Tanh {
    static __device__ W value(W x) { return std::tanh(x); }
    // Computes 1 - tanh(x)^2 in a form that loses no precision for large |x|.
    static __device__ W derivative(W x) {
        const W exp_negative = std::exp(-2 * std::abs(x));
        return 4 * exp_negative / ((1 + exp_negative) * (1 + exp_negative));
    }
};

// Calls `use(Function{})` with the function of `kind`.
template <class W, class Use>
void visit_function(ActivationKind kind, const Use& use) {
    switch (kind) {
        case ActivationKind::gelu_tanh:
            return use(GeluTanh<W>{});
        case ActivationKind::gelu:
            return use(Gelu<W>{});
        case ActivationKind::tanh:
            return use(Tanh<W>{});
    }
}

template <class T, class Function>
struct Activate {
    device::Elements<const T> input;
    device::Elements<T> output;

    template <unsigned width>
    __device__ void process(std::size_t row, std::size_t column) const {
        const auto x = gpu::load<width>(input, row, column);
        Vector<T, width> y;
        for (unsigned i = 0; i < width; ++i) y.set(i, Function::value(x[i]));
        gpu::store(output, row, column, y);
    }
};

template <class T, class Function>
struct ActivateBackward {
    device::Elements<const T> input;
    device::Elements<const T> grad_output;
    device::Elements<T> grad_input;

    template <unsigned width>
    __device__ void process(std::size_t row, std::size_t column) const {
        const auto x = gpu::load<width>(input, row, column);
        const auto dy = gpu::load<width>(grad_output, row, column);
        Vector<T, width> dx;
        for (unsigned i = 0; i < width; ++i) dx.set(i, dy[i] * Function::derivative(x[i]));
        gpu::store(grad_input, row, column, dx);
    }
};

template <class W>
__device__ W logistic(W x) {
    return 1 / (1 + std::exp(-x));
}

template <class T>
struct SiluGateStep {
    device::Elements<const T> gate;
    device::Elements<const T> up;
    device::Elements<T> output;

    template <unsigned width>
    __device__ void process(std::size_t row, std::size_t column) const {
        const auto x = gpu::load<width>(gate, row, column);
        const auto factor = gpu::load<width>(up, row, column);
        Vector<T, width> y;
        for (unsigned i = 0; i < width; ++i) y.set(i, x[i] * logistic(x[i]) * factor[i]);
        gpu::store(output, row, column, y);
    }
};

template <class T>
struct SiluGateBackwardStep {
    device::Elements<const T> gate;
    device::Elements<const T> up;
    device::Elements<const T> grad_output;
    device::Elements<T> grad_gate;
    device::Elements<T> grad_up;

    template <unsigned width>
    __device__ void process(std::size_t row, std::size_t column) const {
        const auto x = gpu::load<width>(gate, row, column);
        const auto factor = gpu::load<width>(up, row, column);
        const auto dy = gpu::load<width>(grad_output, row, column);
        Vector<T, width> dx;
        Vector<T, width> dfactor;
        for (unsigned i = 0; i < width; ++i) {
            const Accumulator<T> sigmoid = logistic(x[i]);
            const Accumulator<T> value = x[i] * sigmoid;
            dx.set(i, dy[i] * factor[i] * (sigmoid + value * (1 - sigmoid)));
            dfactor.set(i, dy[i] * value);
        }
        gpu::store(grad_gate, row, column, dx);
        gpu::store(grad_up, row, column, dfactor);
    }
};

}  // namespace

void run(device::CudaStream& stream, const Activation& op) {
    gpu::visit_type(op.input.dtype, [&]<class T>(T) {
        const auto input = gpu::get_elements<T>(op.input);
        const auto output = gpu::get_elements<T>(op.output);
        const bool may_use_vectors = gpu::may_use_vectors<T>(input, output);
        visit_function<Accumulator<T>>(op.kind, [&]<class Function>(Function) {
            gpu::for_each_vector<T>(stream, input.rows, input.columns, may_use_vectors,
                                    Activate<T, Function>{.input = input, .output = output});
        });
    });
}

void run(device::CudaStream& stream, const ActivationBackward& op) {
    gpu::visit_type(op.input.dtype, [&]<class T>(T) {
        const auto input = gpu::get_elements<T>(op.input);
        const auto grad_output = gpu::get_elements<T>(op.grad_output);
        const auto grad_input = gpu::get_elements<T>(op.grad_input);
        const bool may_use_vectors = gpu::may_use_vectors<T>(input, grad_output, grad_input);
        visit_function<Accumulator<T>>(op.kind, [&]<class Function>(Function) {
            const ActivateBackward<T, Function> step{
                .input = input, .grad_output = grad_output, .grad_input = grad_input};
            gpu::for_each_vector<T>(stream, input.rows, input.columns, may_use_vectors, step);
        });
    });
}

void run(device::CudaStream& stream, const SiluGate& op) {
    gpu::visit_type(op.gate.dtype, [&]<class T>(T) {
        const SiluGateStep<T> step{.gate = gpu::get_elements<T>(op.gate),
                                   .up = gpu::get_elements<T>(op.up),
                                   .output = gpu::get_elements<T>(op.output)};
        const bool may_use_vectors = gpu::may_use_vectors<T>(step.gate, step.up, step.output);
        gpu::for_each_vector<T>(stream, op.gate.rows, op.gate.columns, may_use_vectors, step);
    });
}

void run(device::CudaStream& stream, const SiluGateBackward& op) {
    gpu::visit_type(op.gate.dtype, [&]<class T>(T) {
        const SiluGateBackwardStep<T> step{.gate = gpu::get_elements<T>(op.gate),
                                           .up = gpu::get_elements<T>(op.up),
                                           .grad_output = gpu::get_elements<T>(op.grad_output),
                                           .grad_gate = gpu::get_elements<T>(op.grad_gate),
                                           .grad_up = gpu::get_elements<T>(op.grad_up)};
        const bool may_use_vectors =
            gpu::may_use_vectors<T>(step.gate, step.up, step.grad_output, step.grad_gate, step.grad_up);
        gpu::for_each_vector<T>(stream, op.gate.rows, op.gate.columns, may_use_vectors, step);
    });
}

}  // namespace trireme::kernels
