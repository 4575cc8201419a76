#include <cmath>

#include "kernels/cuda/support/elementwise.cuh"
#include "trireme/kernels/activation.hpp"

namespace trireme::kernels {
namespace {

using gpu::Vector;
using gpu::Wide;

// Uses (1 + tanh(u)) / 2 = 1 / (1 + exp(-2 u)), which needs one exponential and no hyperbolic function.
template <class W>
struct GeluTanh {
    static constexpr W linear = static_cast<W>(2 * 0.79788456080286535588);  // 2 sqrt(2 / pi)
    static constexpr W cubic = linear * static_cast<W>(0.044715);
    static constexpr W flat = 10000;  // bound of x^2: beyond it the share is 0 or 1, and x^3 may overflow

    static __device__ W square(W x) { return x * x < flat ? x * x : flat; }
    static __device__ W share(W x) { return 1 / (1 + std::exp(-x * (linear + cubic * square(x)))); }
    static __device__ W value(W x) { return x * share(x); }
    static __device__ W slope(W x) {
        const W s = share(x);
        return s + x * s * (1 - s) * (linear + 3 * cubic * square(x));
    }
};

template <class W>
struct Gelu {
    static constexpr W peak = static_cast<W>(0.39894228040143267794);  // density at 0: 1 / sqrt(2 pi)

    static __device__ W value(W x) { return x * normcdf(x); }
    static __device__ W slope(W x) { return normcdf(x) + x * (peak * std::exp(-x * x / 2)); }
};

template <class W>
struct Tanh {
    static __device__ W value(W x) { return std::tanh(x); }
    static __device__ W slope(W x) {
        const W shrunk = std::exp(-2 * std::abs(x));
        return 4 * shrunk / ((1 + shrunk) * (1 + shrunk));
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
    __device__ void at(std::size_t row, std::size_t column) const {
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
    __device__ void at(std::size_t row, std::size_t column) const {
        const auto x = gpu::load<width>(input, row, column);
        const auto dy = gpu::load<width>(grad_output, row, column);
        Vector<T, width> dx;
        for (unsigned i = 0; i < width; ++i) dx.set(i, dy[i] * Function::slope(x[i]));
        gpu::store(grad_input, row, column, dx);
    }
};

template <class W>
__device__ W logistic(W x) {
    return 1 / (1 + std::exp(-x));
}

template <class T>
struct Gate {
    device::Elements<const T> gate;
    device::Elements<const T> up;
    device::Elements<T> output;

    template <unsigned width>
    __device__ void at(std::size_t row, std::size_t column) const {
        const auto x = gpu::load<width>(gate, row, column);
        const auto factor = gpu::load<width>(up, row, column);
        Vector<T, width> y;
        for (unsigned i = 0; i < width; ++i) y.set(i, x[i] * logistic(x[i]) * factor[i]);
        gpu::store(output, row, column, y);
    }
};

template <class T>
struct GateBackward {
    device::Elements<const T> gate;
    device::Elements<const T> up;
    device::Elements<const T> grad_output;
    device::Elements<T> grad_gate;
    device::Elements<T> grad_up;

    template <unsigned width>
    __device__ void at(std::size_t row, std::size_t column) const {
        const auto x = gpu::load<width>(gate, row, column);
        const auto factor = gpu::load<width>(up, row, column);
        const auto dy = gpu::load<width>(grad_output, row, column);
        Vector<T, width> dx;
        Vector<T, width> dfactor;
        for (unsigned i = 0; i < width; ++i) {
            const Wide<T> share = logistic(x[i]);
            const Wide<T> value = x[i] * share;
            dx.set(i, dy[i] * factor[i] * (share + value * (1 - share)));
            dfactor.set(i, dy[i] * value);
        }
        gpu::store(grad_gate, row, column, dx);
        gpu::store(grad_up, row, column, dfactor);
    }
};

}  // namespace

void run(device::CudaStream& stream, const Activation& op) {
    gpu::visit_type(op.input.dtype, [&]<class T>(T) {
        const auto input = gpu::elements<T>(op.input);
        const auto output = gpu::elements<T>(op.output);
        const bool has_vectors = gpu::has_vectors<T>(input, output);
        visit_function<Wide<T>>(op.kind, [&]<class Function>(Function) {
            gpu::for_each_vector<T>(stream, input.rows, input.columns, has_vectors,
                                    Activate<T, Function>{.input = input, .output = output});
        });
    });
}

void run(device::CudaStream& stream, const ActivationBackward& op) {
    gpu::visit_type(op.input.dtype, [&]<class T>(T) {
        const auto input = gpu::elements<T>(op.input);
        const auto grad_output = gpu::elements<T>(op.grad_output);
        const auto grad_input = gpu::elements<T>(op.grad_input);
        const bool has_vectors = gpu::has_vectors<T>(input, grad_output, grad_input);
        visit_function<Wide<T>>(op.kind, [&]<class Function>(Function) {
            const ActivateBackward<T, Function> step{
                .input = input, .grad_output = grad_output, .grad_input = grad_input};
            gpu::for_each_vector<T>(stream, input.rows, input.columns, has_vectors, step);
        });
    });
}

void run(device::CudaStream& stream, const SiluGate& op) {
    gpu::visit_type(op.gate.dtype, [&]<class T>(T) {
        const Gate<T> step{.gate = gpu::elements<T>(op.gate),
                           .up = gpu::elements<T>(op.up),
                           .output = gpu::elements<T>(op.output)};
        const bool has_vectors = gpu::has_vectors<T>(step.gate, step.up, step.output);
        gpu::for_each_vector<T>(stream, op.gate.rows, op.gate.columns, has_vectors, step);
    });
}

void run(device::CudaStream& stream, const SiluGateBackward& op) {
    gpu::visit_type(op.gate.dtype, [&]<class T>(T) {
        const GateBackward<T> step{.gate = gpu::elements<T>(op.gate),
                                   .up = gpu::elements<T>(op.up),
                                   .grad_output = gpu::elements<T>(op.grad_output),
                                   .grad_gate = gpu::elements<T>(op.grad_gate),
                                   .grad_up = gpu::elements<T>(op.grad_up)};
        const bool has_vectors =
            gpu::has_vectors<T>(step.gate, step.up, step.grad_output, step.grad_gate, step.grad_up);
        gpu::for_each_vector<T>(stream, op.gate.rows, op.gate.columns, has_vectors, step);
    });
}

}  // namespace trireme::kernels
