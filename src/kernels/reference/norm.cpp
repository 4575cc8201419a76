// Reference implementation: plain loops, sums in double. With x = (input - mean) inv_std and
// g = grad_output gain:
//   grad_input = inv_std (g - (mean over channels of g) - x (mean over channels of g x))
#include "trireme/kernels/norm.hpp"

#include <cmath>

namespace trireme::kernels {
namespace {

struct Moments {
    double mean;
    double inv_std;
};

template <class T>
Moments compute_moments(const T* row, std::size_t channels, double epsilon) {
    double sum = 0;
    for (std::size_t c = 0; c < channels; ++c) sum += row[c];
    const double mean = sum / static_cast<double>(channels);

    double squares = 0;
    for (std::size_t c = 0; c < channels; ++c) squares += (row[c] - mean) * (row[c] - mean);
    return {mean, 1 / std::sqrt(squares / static_cast<double>(channels) + epsilon)};
}

template <class T>
void forward(const LayerNorm& op) {
    const auto input = op.input.as<T>();
    const auto gain = op.gain.as<T>();
    const auto bias = op.bias.as<T>();
    const auto output = op.output.as<T>();
    for (std::size_t r = 0; r < input.rows; ++r) {
        const Moments moments = compute_moments(input.row(r), input.columns, op.epsilon);
        for (std::size_t c = 0; c < input.columns; ++c) {
            const double x = (input(r, c) - moments.mean) * moments.inv_std;
            output(r, c) = static_cast<T>(x * gain[c] + bias[c]);
        }
        op.mean.as<T>()[r] = static_cast<T>(moments.mean);
        op.inv_std.as<T>()[r] = static_cast<T>(moments.inv_std);
    }
}

template <class T>
void backward_row(const LayerNormBackwardInput& op, std::size_t r) {
    const auto input = op.input.as<T>();
    const auto gain = op.gain.as<T>();
    const auto grad_output = op.grad_output.as<T>();
    const auto grad_input = op.grad_input.as<T>();
    const double mean = op.mean.as<T>()[r];
    const double inv_std = op.inv_std.as<T>()[r];
    const auto x = [&](std::size_t c) { return (input(r, c) - mean) * inv_std; };
    const auto g = [&](std::size_t c) { return static_cast<double>(grad_output(r, c)) * gain[c]; };

    double sum_g = 0;
    double sum_gx = 0;
    for (std::size_t c = 0; c < input.columns; ++c) {
        sum_g += g(c);
        sum_gx += g(c) * x(c);
    }
    const auto channels = static_cast<double>(input.columns);
    for (std::size_t c = 0; c < input.columns; ++c) {
        const double residual = op.residual.is_present() ? op.residual.as<T>()(r, c) : 0;
        grad_input(r, c) =
            static_cast<T>(inv_std * (g(c) - sum_g / channels - x(c) * sum_gx / channels) + residual);
    }
}

template <class T>
void backward_weight(const LayerNormBackwardWeight& op) {
    const auto input = op.input.as<T>();
    const auto mean = op.mean.as<T>();
    const auto inv_std = op.inv_std.as<T>();
    const auto grad_output = op.grad_output.as<T>();
    for (std::size_t c = 0; c < input.columns; ++c) {
        T& grad_gain = op.grad_gain.as<T>()[c];
        T& grad_bias = op.grad_bias.as<T>()[c];
        double gain_sum = grad_gain;
        double bias_sum = grad_bias;
        for (std::size_t r = 0; r < input.rows; ++r) {
            const double x = (static_cast<double>(input(r, c)) - mean[r]) * inv_std[r];
            gain_sum += grad_output(r, c) * x;
            bias_sum += grad_output(r, c);
        }
        grad_gain = static_cast<T>(gain_sum);
        grad_bias = static_cast<T>(bias_sum);
    }
}

}  // namespace

void run(device::ReferenceStream& stream, const LayerNorm& op) {
    if (op.fused_sum.is_present()) run(stream, op.fused_sum);
    visit_float(op.input.dtype, [&](auto zero) { forward<decltype(zero)>(op); });
}

void run(device::ReferenceStream&, const LayerNormBackwardInput& op) {
    visit_float(op.input.dtype, [&](auto zero) {
        for (std::size_t r = 0; r < op.input.rows; ++r) backward_row<decltype(zero)>(op, r);
    });
}

void run(device::ReferenceStream&, const LayerNormBackwardWeight& op) {
    visit_float(op.input.dtype, [&](auto zero) { backward_weight<decltype(zero)>(op); });
}

}  // namespace trireme::kernels
