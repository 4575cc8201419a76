// Reference implementation: one image and one position at a time.
#include "trireme/kernels/image_rows.hpp"

namespace trireme::kernels {
namespace {

template <class T>
void forward(const ImageRows& op) {
    const auto patches = op.patches.as<T>();
    const auto class_token = op.class_token.as<T>();
    const auto place_table = op.place_table.as<T>();
    const auto output = op.output.as<T>();
    const std::size_t images = output.rows / place_table.rows;
    for (std::size_t i = 0; i < images; ++i) {
        for (std::size_t place = 0; place < place_table.rows; ++place) {
            const T* row = place == 0 ? class_token.data : patches.row(i * (place_table.rows - 1) + place - 1);
            for (std::size_t c = 0; c < output.columns; ++c) {
                output(i * place_table.rows + place, c) = row[c] + place_table(place, c);
            }
        }
    }
}

template <class T>
void backward(const ImageRowsBackward& op) {
    const auto grad_output = op.grad_output.as<T>();
    const auto grad_patches = op.grad_patches.as<T>();
    const auto grad_class_token = op.grad_class_token.as<T>();
    const auto grad_place_table = op.grad_place_table.as<T>();
    const std::size_t places = grad_place_table.rows;
    for (std::size_t r = 0; r < grad_output.rows; ++r) {
        const std::size_t place = r % places;
        for (std::size_t c = 0; c < grad_output.columns; ++c) {
            grad_place_table(place, c) += grad_output(r, c);
            if (place == 0) {
                grad_class_token[c] += grad_output(r, c);
            } else {
                grad_patches(r / places * (places - 1) + place - 1, c) = grad_output(r, c);
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
