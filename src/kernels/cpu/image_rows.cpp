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

template <class T>
void forward(int threads, const ImageRows& op) {
    const auto patches = op.patches.as<T>();
    const auto class_token = op.class_token.as<T>();
    const auto place_table = op.place_table.as<T>();
    const auto output = op.output.as<T>();
    const std::size_t places = place_table.rows;
    cpu::for_each_rows(threads, output.rows, output.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) {
            const std::size_t place = r % places;
            const T* x = place == 0 ? class_token.data : patches.row(r / places * (places - 1) + place - 1);
            const T* added = place_table.row(place);
            T* y = output.row(r);
#pragma omp simd
            for (std::size_t c = 0; c < output.columns; ++c) y[c] = x[c] + added[c];
        }
    });
}

// The threads divide the positions of an image among themselves. Each thread visits the images in order; only
// the thread with position 0 adds to the class token.
template <class T>
void backward(int threads, const ImageRowsBackward& op) {
    const auto grad_output = op.grad_output.as<T>();
    const auto grad_patches = op.grad_patches.as<T>();
    T* grad_class_token = op.grad_class_token.as<T>().data;
    const auto grad_place_table = op.grad_place_table.as<T>();
    const std::size_t columns = grad_output.columns;
    const std::size_t places = grad_place_table.rows;
    const std::size_t images = grad_output.rows / places;
    const auto one_place = [&](std::size_t place) {
        for (std::size_t i = 0; i < images; ++i) {
            const T* dy = grad_output.row(i * places + place);
            add(dy, columns, grad_place_table.row(place));
            if (place == 0) {
                add(dy, columns, grad_class_token);
            } else {
                std::copy_n(dy, columns, grad_patches.row(i * (places - 1) + place - 1));
            }
        }
    };
    cpu::for_each_rows(threads, places, images * columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t place = begin; place < end; ++place) one_place(place);
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
