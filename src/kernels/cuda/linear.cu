#include "kernels/cuda/column_sums.cuh"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/product_library.hpp"
#include "trireme/kernels/linear.hpp"

namespace trireme {
namespace {

template <class T>
struct AddBias {
    Elements<const T> bias;
    Elements<T> output;

    template <unsigned width>
    __device__ void at(std::size_t row, std::size_t column) const {
        gpu::put(output.row(row) + column, gpu::load<width>(bias, 0, column), true);
    }
};

void add_bias(CudaStream& stream, const Linear& op) {
    gpu::visit_type(op.output.dtype, [&]<class T>(T) {
        const AddBias<T> step{.bias = gpu::elements<T>(op.bias), .output = gpu::elements<T>(op.output)};
        gpu::for_each_vector<T>(stream, op.output.rows, op.output.columns,
                                gpu::has_vectors<T>(step.bias, step.output), step);
    });
}

}  // namespace

void run(CudaStream& stream, const Linear& op) {
    ProductLibrary& products = stream.work->products();
    GpuProduct product{.left = op.input,
                       .right = op.weight,
                       .is_right_transposed = op.axes == WeightAxes::out_in,
                       .bias = op.bias,
                       .result = op.output};
    const bool is_bias_left = op.bias.is_present() && !products.takes_bias(product);
    if (is_bias_left) product.bias = {};
    products.multiply(stream.work->queue(), product);
    if (is_bias_left) add_bias(stream, op);
}

void run(CudaStream& stream, const LinearBackwardInput& op) {
    stream.work->products().multiply(stream.work->queue(),
                                     {.left = op.grad_output,
                                      .right = op.weight,
                                      .is_right_transposed = op.axes == WeightAxes::in_out,
                                      .result = op.grad_input,
                                      .accumulate = op.accumulate});
}

// grad_weight is input^T grad_output where it lies as (in, out), and grad_output^T input where as (out, in).
void run(CudaStream& stream, const LinearBackwardWeight& op) {
    const bool is_in_out = op.axes == WeightAxes::in_out;
    stream.work->products().multiply(stream.work->queue(), {.left = is_in_out ? op.input : op.grad_output,
                                                            .right = is_in_out ? op.grad_output : op.input,
                                                            .is_left_transposed = true,
                                                            .result = op.grad_weight,
                                                            .accumulate = true});
    if (!op.grad_bias.is_present()) return;
    gpu::visit_type(op.input.dtype, [&]<class T>(T) {
        using W = gpu::Wide<T>;
        gpu::sum_rows(stream, gpu::PlainTerms<T>{gpu::elements<T>(op.grad_output)},
                      gpu::AddTo<W, 1>{gpu::elements<W>(op.grad_bias).data});
    });
}

}  // namespace trireme
