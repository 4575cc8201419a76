// Reference implementation: plain loops, sums in double. With rows r, input channels i and output channels o:
//   forward          output[r, o] = sum_i input[r, i] W[i, o] + bias[o]
//   backward input   grad_input[r, i] = sum_o grad_output[r, o] W[i, o]
//   backward weight  grad_W[i, o] += sum_r input[r, i] grad_output[r, o]
//                    grad_bias[o] += sum_r grad_output[r, o]

#include "trireme/kernels/linear.hpp"

#include <cmath>

namespace trireme::kernels {
namespace {

// Returns W[in, out] for either memory layout.
template <class T>
T& at(const device::Elements<T>& weight, WeightAxes axes, std::size_t in, std::size_t out) {
    return axes == WeightAxes::in_out ? weight(in, out) : weight(out, in);
}

template <class T>
void forward(const Linear& op) {
    const auto input = op.input.as<T>();
    const auto weight = op.weight.as<T>();
    const auto output = op.output.as<T>();
    for (std::size_t r = 0; r < output.rows; ++r) {
        for (std::size_t o = 0; o < output.columns; ++o) {
            double sum = op.bias.is_present() ? op.bias.as<T>()[o] : 0;
            for (std::size_t i = 0; i < input.columns; ++i) {
                sum += static_cast<double>(input(r, i)) * at(weight, op.axes, i, o);
            }
            output(r, o) = static_cast<T>(sum);
        }
    }
}

template <class T>
void backward_input(const LinearBackwardInput& op) {
    const auto grad_output = op.grad_output.as<T>();
    const auto weight = op.weight.as<T>();
    const auto grad_input = op.grad_input.as<T>();
    for (std::size_t r = 0; r < grad_input.rows; ++r) {
        for (std::size_t i = 0; i < grad_input.columns; ++i) {
            double sum = op.accumulate ? grad_input(r, i) : 0;
            for (std::size_t o = 0; o < grad_output.columns; ++o) {
                sum += static_cast<double>(grad_output(r, o)) * at(weight, op.axes, i, o);
            }
            grad_input(r, i) = static_cast<T>(sum);
        }
    }
}

template <class T>
void backward_weight(const LinearBackwardWeight& op) {
    const auto input = op.input.as<T>();
    const auto grad_output = op.grad_output.as<T>();
    const auto grad_weight = op.grad_weight.as<T>();
    for (std::size_t i = 0; i < input.columns; ++i) {
        for (std::size_t o = 0; o < grad_output.columns; ++o) {
            T& grad = at(grad_weight, op.axes, i, o);
            double sum = grad;
            for (std::size_t r = 0; r < input.rows; ++r) {
                sum += static_cast<double>(input(r, i)) * grad_output(r, o);
            }
            grad = static_cast<T>(sum);
        }
    }
}

template <class T>
void add_column_sums(const ColumnSums& op) {
    const auto input = op.input.as<T>();
    const auto sums = op.sums.as<T>();
    for (std::size_t c = 0; c < sums.columns; ++c) {
        double sum = sums[c];
        for (std::size_t r = 0; r < input.rows; ++r) sum += input(r, c);
        sums[c] = static_cast<T>(sum);
    }
}

}  // namespace

void run(device::ReferenceStream& stream, const Linear& op) {
    visit_float(op.input.dtype, [&](auto zero) { forward<decltype(zero)>(op); });
    if (op.activated_output.is_present())
        run(stream, Activation{.input = op.output, .output = op.activated_output, .kind = op.activation});
}

void run(device::ReferenceStream& stream, const LinearBackwardInput& op) {
    visit_float(op.grad_output.dtype, [&](auto zero) { backward_input<decltype(zero)>(op); });
    if (op.activation_input.is_present())
        run(stream, ActivationBackward{.input = op.activation_input,
                                       .grad_output = op.grad_input,
                                       .grad_input = op.grad_input,
                                       .kind = op.activation});
}

void run(device::ReferenceStream& stream, const LinearBackwardWeight& op) {
    visit_float(op.input.dtype, [&](auto zero) { backward_weight<decltype(zero)>(op); });
    if (op.grad_bias.is_present()) run(stream, ColumnSums{.input = op.grad_output, .sums = op.grad_bias});
}

void run(device::ReferenceStream&, const ColumnSums& op) {
    visit_float(op.input.dtype, [&](auto zero) { add_column_sums<decltype(zero)>(op); });
}

void run(device::ReferenceStream&, const ChannelChange& op) {
    visit_float(op.weight.dtype, [&]<class T>(T) {
        const auto weight = op.weight.as<T>();
        const auto old_weight = op.old_weight.as<T>();
        const auto change = op.change.as<double>();
        for (std::size_t r = 0; r < weight.rows; ++r) {
            for (std::size_t c = 0; c < weight.columns; ++c) {
                const std::size_t channel = op.axes == WeightAxes::in_out ? r : c;
                change[channel] += std::abs(static_cast<double>(weight(r, c)) - old_weight(r, c));
            }
        }
    });
}

}  // namespace trireme::kernels
