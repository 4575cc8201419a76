#include "trireme/kernels/image_rows.hpp"

#include <algorithm>

#include "kernels/cpu/parallel.hpp"

namespace trireme::kernels {
namespace {

template <class T>
void add(const T* x, std::size_t columns, T* sum) {
#pragma omp simd
    for (std::size_t c = 0; c < columns; ++c) sum[c] += x[c];
}

// Each image has `positions` rows of the output: the class token at position 0, then its patches.
template <class T>
void forward(int threads, const ImageRows& op) {
    const auto patches = op.patches.as<T>();
    const auto class_token = op.class_token.as<T>();
    const auto position_table = op.position_table.as<T>();
    const auto output = op.output.as<T>();
    const std::size_t positions = position_table.rows;
    cpu::for_each_rows(threads, output.rows, output.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) {
            const std::size_t position = r % positions;
            const T* x =
                position == 0 ? class_token.data : patches.row(r / positions * (positions - 1) + position - 1);
            const T* position_row = position_table.row(position);
            T* y = output.row(r);
#pragma omp simd
            for (std::size_t c = 0; c < output.columns; ++c) y[c] = x[c] + position_row[c];
        }
    });
}

// The threads divide the positions of an image among themselves. Each thread visits the images in order. Only
// the thread with position 0 adds to the gradient of the class token.
template <class T>
void backward(int threads, const ImageRowsBackward& op) {
    const auto grad_output = op.grad_output.as<T>();
    const auto grad_patches = op.grad_patches.as<T>();
    T* grad_class_token = op.grad_class_token.as<T>().data;
    const auto grad_position_table = op.grad_position_table.as<T>();
    const std::size_t columns = grad_output.columns;
    const std::size_t positions = grad_position_table.rows;
    const std::size_t images = grad_output.rows / positions;
    const auto backpropagate_position = [&](std::size_t position) {
        for (std::size_t i = 0; i < images; ++i) {
            const T* dy = grad_output.row(i * positions + position);
            add(dy, columns, grad_position_table.row(position));
            if (position == 0) {
                add(dy, columns, grad_class_token);
            } else {
                std::copy_n(dy, columns, grad_patches.row(i * (positions - 1) + position - 1));
            }
        }
    };
    cpu::for_each_rows(threads, positions, images * columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t position = begin; position < end; ++position) backpropagate_position(position);
    });
}

}  // namespace

void run(device::CpuStream& stream, const ImageRows& op) {
    visit_float(op.output.dtype, [&](auto zero) { forward<decltype(zero)>(stream.threads, op); });
}

void run(device::CpuStream& stream, const ImageRowsBackward& op) {
    visit_float(op.grad_output.dtype, [&](auto zero) { backward<decltype(zero)>(stream.threads, op); });
}

}  // namespace trireme::kernels
