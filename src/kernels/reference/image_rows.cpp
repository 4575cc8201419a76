// Reference implementation: plain loops over the rows of the output, in order.
#include "trireme/kernels/image_rows.hpp"

namespace trireme::kernels {
namespace {

template <class T>
void forward(const ImageRows& op) {
    const auto patches = op.patches.as<T>();
    const auto class_token = op.class_token.as<T>();
    const auto position_table = op.position_table.as<T>();
    const auto output = op.output.as<T>();
    const std::size_t images = output.rows / position_table.rows;
    for (std::size_t i = 0; i < images; ++i) {
        for (std::size_t position = 0; position < position_table.rows; ++position) {
            const T* row =
                position == 0 ? class_token.data : patches.row(i * (position_table.rows - 1) + position - 1);
            for (std::size_t c = 0; c < output.columns; ++c) {
                output(i * position_table.rows + position, c) = row[c] + position_table(position, c);
            }
        }
    }
}

template <class T>
void backward(const ImageRowsBackward& op) {
    const auto grad_output = op.grad_output.as<T>();
    const auto grad_patches = op.grad_patches.as<T>();
    const auto grad_class_token = op.grad_class_token.as<T>();
    const auto grad_position_table = op.grad_position_table.as<T>();
    const std::size_t positions = grad_position_table.rows;
    for (std::size_t r = 0; r < grad_output.rows; ++r) {
        const std::size_t position = r % positions;
        for (std::size_t c = 0; c < grad_output.columns; ++c) {
            grad_position_table(position, c) += grad_output(r, c);
            if (position == 0) {
                grad_class_token[c] += grad_output(r, c);
            } else {
                grad_patches(r / positions * (positions - 1) + position - 1, c) = grad_output(r, c);
            }
        }
    }
}

}  // namespace

void run(device::ReferenceStream&, const ImageRows& op) {
    visit_float(op.output.dtype, [&](auto zero) { forward<decltype(zero)>(op); });
}

void run(device::ReferenceStream&, const ImageRowsBackward& op) {
    visit_float(op.grad_output.dtype, [&](auto zero) { backward<decltype(zero)>(op); });
}

}  // namespace trireme::kernels
