#include "kernels/cuda/support/column_sums.cuh"
#include "kernels/cuda/support/elementwise.cuh"
#include "trireme/kernels/image_rows.hpp"

namespace trireme::kernels {
namespace {

using gpu::Vector;
using gpu::Wide;

template <class T>
struct PlaceRows {
    device::Elements<const T> patches;
    device::Elements<const T> class_token;
    device::Elements<const T> place_table;
    device::Elements<T> output;

    template <unsigned width>
    __device__ void at(std::size_t row, std::size_t column) const {
        const std::size_t places = place_table.rows;
        const std::size_t image = row / places;
        const std::size_t place = row % places;
        const T* const from = place == 0 ? class_token.data : patches.row(image * (places - 1) + place - 1);
        const auto x = gpu::load<width>(from + column);
        const auto added = gpu::load<width>(place_table, place, column);
        Vector<T, width> y;
        for (unsigned i = 0; i < width; ++i) y.set(i, x[i] + added[i]);
        gpu::store(output, row, column, y);
    }
};

// Views each image as one row that holds all its positions, so that sums over images are sums over rows. Also
// copies each vector of a patch to grad_patches.
template <class T>
struct ImageTerms {
    using Element = T;
    using Sum = Wide<T>;
    static constexpr unsigned count = 1;
    device::Elements<const T> grad_output;
    device::Elements<T> grad_patches;
    std::size_t places;

    __host__ __device__ std::size_t rows() const { return grad_output.rows / places; }
    __host__ __device__ std::size_t columns() const { return places * grad_output.columns; }
    bool has_vectors() const { return gpu::has_vectors<T>(grad_output, grad_patches); }
    template <unsigned width>
    __device__ void add(std::size_t image, std::size_t at, Sum (&sums)[1][width]) const {
        const std::size_t place = at / grad_output.columns;
        const std::size_t column = at % grad_output.columns;
        const auto dy = gpu::load<width>(grad_output, image * places + place, column);
        for (unsigned i = 0; i < width; ++i) sums[0][i] += dy[i];
        if (place > 0) gpu::store(grad_patches, image * (places - 1) + place - 1, column, dy);
    }
};

template <class W>
struct AddToPlaces {
    device::Elements<W> grad_place_table;
    W* grad_class_token;

    __device__ void operator()(unsigned /*s*/, std::size_t at, W sum) const {
        const std::size_t place = at / grad_place_table.columns;
        const std::size_t column = at % grad_place_table.columns;
        grad_place_table(place, column) += sum;
        if (place == 0) grad_class_token[column] += sum;
    }
};

}  // namespace

void run(device::CudaStream& stream, const ImageRows& op) {
    gpu::visit_type(op.output.dtype, [&]<class T>(T) {
        const PlaceRows<T> step{.patches = gpu::elements<T>(op.patches),
                                .class_token = gpu::elements<T>(op.class_token),
                                .place_table = gpu::elements<T>(op.place_table),
                                .output = gpu::elements<T>(op.output)};
        const bool has_vectors =
            gpu::has_vectors<T>(step.patches, step.class_token, step.place_table, step.output);
        gpu::for_each_vector<T>(stream, op.output.rows, op.output.columns, has_vectors, step);
    });
}

void run(device::CudaStream& stream, const ImageRowsBackward& op) {
    gpu::visit_type(op.grad_output.dtype, [&]<class T>(T) {
        using W = Wide<T>;
        const ImageTerms<T> terms{.grad_output = gpu::elements<T>(op.grad_output),
                                  .grad_patches = gpu::elements<T>(op.grad_patches),
                                  .places = op.grad_place_table.rows};
        const AddToPlaces<W> sums{.grad_place_table = gpu::elements<W>(op.grad_place_table),
                                  .grad_class_token = gpu::elements<W>(op.grad_class_token).data};
        gpu::sum_rows(stream, terms, sums);
    });
}

}  // namespace trireme::kernels
