#include "kernels/cuda/support/column_sums.cuh"
#include "kernels/cuda/support/elementwise.cuh"
#include "trireme/kernels/image_rows.hpp"

namespace trireme::kernels {
namespace {

using gpu::Accumulator;
using gpu::Vector;

// Position 0 of an image is the class token; position 1 + p is patch p. The output row of a position
// is the class token or patch of the position, plus the position's row of the position table.
template <class T>
struct AddPositionRows {
    device::Elements<const T> patches;
    device::Elements<const T> class_token;
    device::Elements<const T> position_table;
    device::Elements<T> output;

    template <unsigned width>
    __device__ void process(std::size_t row, std::size_t column) const {
        const std::size_t positions = position_table.rows;
        const std::size_t image = row / positions;
        const std::size_t position = row % positions;
        const T* const from =
            position == 0 ? class_token.data : patches.row(image * (positions - 1) + position - 1);
        const auto x = gpu::load<width>(from + column);
        const auto position_row = gpu::load<width>(position_table, position, column);
        Vector<T, width> y;
        for (unsigned i = 0; i < width; ++i) y.set(i, x[i] + position_row[i]);
        gpu::store(output, row, column, y);
    }
};

// Terms of sum_rows(). An image counts as one long row: the rows of its positions, one after the other. A sum
// over these long rows is a sum over images. add() also copies the gradient of each patch to grad_patches.
template <class T>
struct ImageTerms {
    using Element = T;
    using Sum = Accumulator<T>;
    static constexpr unsigned count = 1;
    device::Elements<const T> grad_output;
    device::Elements<T> grad_patches;
    std::size_t positions;  // per image

    __host__ __device__ std::size_t rows() const { return grad_output.rows / positions; }
    __host__ __device__ std::size_t columns() const { return positions * grad_output.columns; }
    bool may_use_vectors() const { return gpu::may_use_vectors<T>(grad_output, grad_patches); }
    template <unsigned width>
    __device__ void add(std::size_t image, std::size_t flat_column, Sum (&sums)[1][width]) const {
        const std::size_t position = flat_column / grad_output.columns;
        const std::size_t column = flat_column % grad_output.columns;
        const auto dy = gpu::load<width>(grad_output, image * positions + position, column);
        for (unsigned i = 0; i < width; ++i) sums[0][i] += dy[i];
        if (position > 0) gpu::store(grad_patches, image * (positions - 1) + position - 1, column, dy);
    }
};

// A Result of sum_rows() for ImageTerms.
template <class W>
struct AddToPositions {
    device::Elements<W> grad_position_table;
    W* grad_class_token;

    __device__ void operator()(unsigned /*s*/, std::size_t flat_column, W sum) const {
        const std::size_t position = flat_column / grad_position_table.columns;
        const std::size_t column = flat_column % grad_position_table.columns;
        grad_position_table(position, column) += sum;
        if (position == 0) grad_class_token[column] += sum;
    }
};

}  // namespace

void run(device::CudaStream& stream, const ImageRows& op) {
    gpu::visit_type(op.output.dtype, [&]<class T>(T) {
        const AddPositionRows<T> step{.patches = gpu::get_elements<T>(op.patches),
                                      .class_token = gpu::get_elements<T>(op.class_token),
                                      .position_table = gpu::get_elements<T>(op.position_table),
                                      .output = gpu::get_elements<T>(op.output)};
        const bool may_use_vectors =
            gpu::may_use_vectors<T>(step.patches, step.class_token, step.position_table, step.output);
        gpu::for_each_vector<T>(stream, op.output.rows, op.output.columns, may_use_vectors, step);
    });
}

void run(device::CudaStream& stream, const ImageRowsBackward& op) {
    gpu::visit_type(op.grad_output.dtype, [&]<class T>(T) {
        using W = Accumulator<T>;
        const ImageTerms<T> terms{.grad_output = gpu::get_elements<T>(op.grad_output),
                                  .grad_patches = gpu::get_elements<T>(op.grad_patches),
                                  .positions = op.grad_position_table.rows};
        const AddToPositions<W> sums{.grad_position_table = gpu::get_elements<W>(op.grad_position_table),
                                     .grad_class_token = gpu::get_elements<W>(op.grad_class_token).data};
        gpu::sum_rows(stream, terms, sums);
    });
}

}  // namespace trireme::kernels
