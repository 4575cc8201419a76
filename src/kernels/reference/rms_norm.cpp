// Reference implementation: plain loops, sums in double. With x = input inv_rms and g = grad_output gain:
//   grad_input = inv_rms (g - x (mean over channels of g x))
#include <cmath>

#include "trireme/kernels/norm.hpp"

namespace trireme::kernels {
namespace {

template <class T>
double compute_inv_rms(const T* row, std::size_t channels, double epsilon) {
    double squares = 0;
    for (std::size_t c = 0; c < channels; ++c) squares += static_cast<double>(row[c]) * row[c];
    return 1 / std::sqrt(squares / static_cast<double>(channels) + epsilon);
}

template <class T>
void forward(const RmsNorm& op) {
    const auto input = op.input.as<T>();
    const auto gain = op.gain.as<T>();
    const auto output = op.output.as<T>();
    for (std::size_t r = 0; r < input.rows; ++r) {
        const double inv_rms = compute_inv_rms(input.row(r), input.columns, op.epsilon);
        for (std::size_t c = 0; c < input.columns; ++c) {
            output(r, c) = static_cast<T>(input(r, c) * inv_rms * gain[c]);
        }
        op.inv_rms.as<T>()[r] = static_cast<T>(inv_rms);
    }
}

template <class T>
void backward_row(const RmsNormBackwardInput& op, std::size_t r) {
    const auto input = op.input.as<T>();
    const auto gain = op.gain.as<T>();
    const auto grad_output = op.grad_output.as<T>();
    const auto grad_input = op.grad_input.as<T>();
    const double inv_rms = op.inv_rms.as<T>()[r];
    const auto x = [&](std::size_t c) { return input(r, c) * inv_rms; };
    const auto g = [&](std::size_t c) { return static_cast<double>(grad_output(r, c)) * gain[c]; };

    double sum_gx = 0;
    for (std::size_t c = 0; c < input.columns; ++c) sum_gx += g(c) * x(c);
    const auto channels = static_cast<double>(input.columns);
    for (std::size_t c = 0; c < input.columns; ++c) {
        const double residual = op.residual.is_present() ? op.residual.as<T>()(r, c) : 0;
        grad_input(r, c) = static_cast<T>(inv_rms * (g(c) - x(c) * sum_gx / channels) + residual);
    }
}

template <class T>
void backward_weight(const RmsNormBackwardWeight& op) {
    const auto input = op.input.as<T>();
    const auto inv_rms = op.inv_rms.as<T>();
    const auto grad_output = op.grad_output.as<T>();
    for (std::size_t c = 0; c < input.columns; ++c) {
        T& grad_gain = op.grad_gain.as<T>()[c];
        double sum = grad_gain;
        for (std::size_t r = 0; r < input.rows; ++r) {
            sum += grad_output(r, c) * (static_cast<double>(input(r, c)) * inv_rms[r]);
        }
        grad_gain = static_cast<T>(sum);
    }
}

}  // namespace

void run(device::ReferenceStream& stream, const RmsNorm& op) {
    if (op.fused_sum.is_present()) run(stream, op.fused_sum);
    visit_float(op.input.dtype, [&](auto zero) { forward<decltype(zero)>(op); });
}

void run(device::ReferenceStream&, const RmsNormBackwardInput& op) {
    visit_float(op.input.dtype, [&](auto zero) {
        for (std::size_t r = 0; r < op.input.rows; ++r) backward_row<decltype(zero)>(op, r);
    });
}

void run(device::ReferenceStream&, const RmsNormBackwardWeight& op) {
    visit_float(op.input.dtype, [&](auto zero) { backward_weight<decltype(zero)>(op); });
}

}  // namespace trireme::kernels
