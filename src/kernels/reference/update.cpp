// Reference implementation: all arithmetic in double, rounded once when the result is stored.
#include "trireme/kernels/update.hpp"

#include <cmath>

#include "kernels/contiguous_parts.hpp"

namespace trireme::kernels {
namespace {

bool has_decay(const device::ConstTensor& decay_mask, std::size_t column) {
    return !decay_mask.is_present() || decay_mask.as<std::int32_t>()[column] != 0;
}

template <class T>
void write_rounded(const device::Elements<T>& parameter, const device::Tensor& rounded_parameter) {
    with_rounding(rounded_parameter, [&](const auto& round) {
        for (std::size_t i = 0; i < parameter.columns; ++i) round(i, parameter[i]);
    });
}

template <class T>
void update_adamw(const AdamWUpdate& op) {
    const auto parameter = op.parameter.flattened().as<T>();
    const auto gradient = op.gradient.flattened().as<T>();
    const auto moment1 = op.moment1.flattened().as<T>();
    const auto moment2 = op.moment2.flattened().as<T>();
    const double correction1 = 1 - std::pow(op.beta1, static_cast<double>(op.step));
    const double correction2 = 1 - std::pow(op.beta2, static_cast<double>(op.step));
    for (std::size_t i = 0; i < parameter.columns; ++i) {
        const double g = op.gradient_scale * gradient[i];
        const double m1 = op.beta1 * moment1[i] + (1 - op.beta1) * g;
        const double m2 = op.beta2 * moment2[i] + (1 - op.beta2) * g * g;
        const double change = m1 / correction1 / (std::sqrt(m2 / correction2) + op.epsilon);
        moment1[i] = static_cast<T>(m1);
        moment2[i] = static_cast<T>(m2);
        const double decay = has_decay(op.decay_mask, i) ? op.weight_decay : 0;
        parameter[i] = static_cast<T>((1 - op.rate * decay) * parameter[i] - op.rate * change);
    }
    write_rounded<T>(parameter, op.rounded_parameter);
}

template <class T>
void update_sgd(const SgdUpdate& op) {
    const auto parameter = op.parameter.flattened().as<T>();
    const auto gradient = op.gradient.flattened().as<T>();
    for (std::size_t i = 0; i < parameter.columns; ++i) {
        const double decay = has_decay(op.decay_mask, i) ? op.weight_decay : 0;
        double change = op.gradient_scale * gradient[i] + decay * parameter[i];
        if (op.velocity.is_present()) {
            T& velocity = op.velocity.flattened().as<T>()[i];
            change += op.momentum * velocity;
            velocity = static_cast<T>(change);
        }
        parameter[i] = static_cast<T>(parameter[i] - op.rate * change);
    }
    write_rounded<T>(parameter, op.rounded_parameter);
}

template <class T>
double compute_sum_of_squares(const device::Elements<const T>& input) {
    double sum = 0;
    for (std::size_t i = 0; i < input.columns; ++i) sum += static_cast<double>(input[i]) * input[i];
    return sum;
}

}  // namespace

void run(device::ReferenceStream&, const AdamWUpdate& op) {
    visit_float(op.parameter.dtype, [&](auto zero) {
        for_each_contiguous_part(op, [](const AdamWUpdate& part) { update_adamw<decltype(zero)>(part); });
    });
}

void run(device::ReferenceStream&, const SgdUpdate& op) {
    visit_float(op.parameter.dtype, [&](auto zero) {
        for_each_contiguous_part(op, [](const SgdUpdate& part) { update_sgd<decltype(zero)>(part); });
    });
}

void run(device::ReferenceStream&, const SumOfSquares& op) {
    visit_float(op.input.dtype, [&](auto zero) {
        double sum = 0;
        const std::size_t parts = count_contiguous_parts(op.input);
        for (std::size_t r = 0; r < parts; ++r)
            sum +=
                compute_sum_of_squares(get_part(op.input, parts, r).flattened().template as<decltype(zero)>());
        op.result.as<double>()[0] = sum;
    });
}

}  // namespace trireme::kernels
