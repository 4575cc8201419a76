// Reference implementation: computes the block of random numbers anew for each element. dropout.hpp specifies
// the block.
#include "trireme/kernels/dropout.hpp"

namespace trireme::kernels {
namespace {

// Returns the dropout factor of an element: 0 if it is dropped, else 1 / (1 - rate).
double compute_dropout_factor(const Dropout& dropout, std::size_t row, std::size_t column) {
    if (!dropout.is_on()) return 1;
    const auto sample = static_cast<std::uint64_t>(dropout.samples.as<std::int64_t>()[row]);
    const auto position = static_cast<std::uint32_t>(dropout.positions.as<std::int32_t>()[row]);
    const std::size_t channel = dropout.first_channel + column;
    const RandomBlock block =
        random_block(dropout.key.then(sample), {static_cast<std::uint32_t>(channel / 4), position, 0, 0});
    return block[channel % 4] >= compute_drop_threshold(dropout.rate) ? 1 / (1 - dropout.rate) : 0;
}

template <class T>
void add(const ResidualAdd& op) {
    const auto input = op.input.as<T>();
    const auto output = op.output.as<T>();
    for (std::size_t r = 0; r < input.rows; ++r) {
        for (std::size_t c = 0; c < input.columns; ++c) {
            const double residual = op.residual.is_present() ? op.residual.as<T>()(r, c) : 0;
            output(r, c) = static_cast<T>(residual + input(r, c) * compute_dropout_factor(op.dropout, r, c));
        }
    }
}

template <class T>
void backward(const DropoutBackward& op) {
    const auto grad_output = op.grad_output.as<T>();
    const auto grad_input = op.grad_input.as<T>();
    for (std::size_t r = 0; r < grad_output.rows; ++r) {
        for (std::size_t c = 0; c < grad_output.columns; ++c) {
            grad_input(r, c) = static_cast<T>(grad_output(r, c) * compute_dropout_factor(op.dropout, r, c));
        }
    }
}

}  // namespace

void run(device::ReferenceStream&, const ResidualAdd& op) {
    visit_float(op.input.dtype, [&](auto zero) { add<decltype(zero)>(op); });
}

void run(device::ReferenceStream&, const DropoutBackward& op) {
    visit_float(op.grad_output.dtype, [&](auto zero) { backward<decltype(zero)>(op); });
}

}  // namespace trireme::kernels
