#include "kernels/cpu/exponential.hpp"
#include "kernels/cpu/parallel.hpp"
#include "trireme/kernels/activation.hpp"

namespace trireme::kernels {
namespace {

template <class T>
inline T logistic(T x) {
    return 1 / (1 + cpu::exponential(-x));
}

template <class T>
void gate_rows(int threads, const SiluGate& op) {
    const auto gate = op.gate.as<T>();
    const auto up = op.up.as<T>();
    const auto output = op.output.as<T>();
    cpu::for_each_rows(threads, gate.rows, gate.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) {
            const T* x = gate.row(r);
            const T* factor = up.row(r);
            T* y = output.row(r);
#pragma omp simd
            for (std::size_t c = 0; c < gate.columns; ++c) y[c] = x[c] * logistic(x[c]) * factor[c];
        }
    });
}

template <class T>
void gate_rows_backward(int threads, const SiluGateBackward& op) {
    const auto gate = op.gate.as<T>();
    const auto up = op.up.as<T>();
    const auto grad_output = op.grad_output.as<T>();
    const auto grad_gate = op.grad_gate.as<T>();
    const auto grad_up = op.grad_up.as<T>();
    cpu::for_each_rows(threads, gate.rows, gate.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) {
            const T* x = gate.row(r);
            const T* factor = up.row(r);
            const T* dy = grad_output.row(r);
            T* dx = grad_gate.row(r);
            T* dfactor = grad_up.row(r);
#pragma omp simd
            for (std::size_t c = 0; c < gate.columns; ++c) {
                const T sigmoid = logistic(x[c]);
                const T value = x[c] * sigmoid;
                dx[c] = dy[c] * factor[c] * (sigmoid + value * (1 - sigmoid));
                dfactor[c] = dy[c] * value;
            }
        }
    });
}

}  // namespace

void run(device::CpuStream& stream, const SiluGate& op) {
    visit_float(op.gate.dtype, [&](auto zero) { gate_rows<decltype(zero)>(stream.threads, op); });
}

void run(device::CpuStream& stream, const SiluGateBackward& op) {
    visit_float(op.gate.dtype, [&](auto zero) { gate_rows_backward<decltype(zero)>(stream.threads, op); });
}

}  // namespace trireme::kernels
