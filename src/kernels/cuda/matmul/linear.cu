#include "kernels/cuda/matmul/product_library.hpp"
#include "kernels/cuda/support/column_sums.cuh"
#include "kernels/cuda/support/elementwise.cuh"
#include "trireme/kernels/linear.hpp"

namespace trireme::kernels {
namespace {

template <class T>
struct AddBias {
    device::Elements<const T> bias;
    device::Elements<T> output;

    template <unsigned width>
    __device__ void at(std::size_t row, std::size_t column) const {
        gpu::put(output.row(row) + column, gpu::load<width>(bias, 0, column), true);
    }
};

void add_bias(device::CudaStream& stream, const Linear& op) {
    gpu::visit_type(op.output.dtype, [&]<class T>(T) {
        const AddBias<T> step{.bias = gpu::elements<T>(op.bias), .output = gpu::elements<T>(op.output)};
        gpu::for_each_vector<T>(stream, op.output.rows, op.output.columns,
                                gpu::has_vectors<T>(step.bias, step.output), step);
    });
}

void activate(device::CudaStream& stream, const Linear& op) {
    run(stream, Activation{.input = op.output, .output = op.activated, .kind = op.activation});
}

// Returns true if the library fuses activations well: before Hopper, a fused one may take longer than a kernel
// of its own.
bool joins_much(const device::CudaStream& stream, device::DType dtype) {
    constexpr int hopper = 90;
    return dtype == device::DType::bf16 && stream.work->facts().capability >= hopper;
}

}  // namespace

// The library has only the gelu_tanh of GPT-2, with a precision that suffices for 16 bits.
bool joins_activation(const device::CudaStream& stream, device::DType dtype, ActivationKind kind) {
    return kind == ActivationKind::gelu_tanh && joins_much(stream, dtype);
}

void run(device::CudaStream& stream, const Linear& op) {
    ProductLibrary& products = stream.work->products();
    device::GpuQueue& queue = stream.work->queue();
    GpuProduct product{.left = op.input,
                       .right = op.weight,
                       .is_right_transposed = op.axes == WeightAxes::out_in,
                       .bias = op.bias,
                       .result = op.output};
    if (op.activated.is_present() && joins_activation(stream, op.output.dtype, op.activation)) {
        product.activated = op.activated;
        if (multiply_joined(products, queue, product)) return;
        product.activated = {};
    }
    if (!op.bias.is_present()) {
        multiply(products, queue, product);
    } else if (!multiply_joined(products, queue, product)) {
        product.bias = {};
        multiply(products, queue, product);
        add_bias(stream, op);
    }
    if (op.activated.is_present()) activate(stream, op);
}

void run(device::CudaStream& stream, const LinearBackwardInput& op) {
    ProductLibrary& products = stream.work->products();
    device::GpuQueue& queue = stream.work->queue();
    GpuProduct product{.left = op.grad_output,
                       .right = op.weight,
                       .is_right_transposed = op.axes == WeightAxes::in_out,
                       .result = op.grad_input,
                       .accumulate = op.accumulate};
    if (!op.activated_from.is_present()) return multiply(products, queue, product);
    if (joins_activation(stream, op.grad_input.dtype, op.activation)) {
        product.activated_from = op.activated_from;
        if (multiply_joined(products, queue, product)) return;
        product.activated_from = {};
    }
    multiply(products, queue, product);
    run(stream, ActivationBackward{.input = op.activated_from,
                                   .grad_output = op.grad_input,
                                   .grad_input = op.grad_input,
                                   .kind = op.activation});
}

// grad_weight is input^T grad_output in the layout (in, out), and grad_output^T input in the layout (out, in).
// The bias gradient is a kernel of its own, because on an H200 the library takes longer to fuse that sum.
void run(device::CudaStream& stream, const LinearBackwardWeight& op) {
    if (op.input.rows == 0) return;  // a library may refuse a depth of 0
    const bool is_in_out = op.axes == WeightAxes::in_out;
    multiply(stream.work->products(), stream.work->queue(),
             {.left = is_in_out ? op.input : op.grad_output,
              .right = is_in_out ? op.grad_output : op.input,
              .is_left_transposed = true,
              .result = op.grad_weight,
              .accumulate = true});
    if (op.grad_bias.is_present()) run(stream, ColumnSums{.input = op.grad_output, .sums = op.grad_bias});
}

void run(device::CudaStream& stream, const ColumnSums& op) {
    gpu::visit_type(op.input.dtype, [&]<class T>(T) {
        using W = gpu::Wide<T>;
        gpu::sum_rows(stream, gpu::PlainTerms<T>{gpu::elements<T>(op.input)},
                      gpu::AddTo<W, 1>{gpu::elements<W>(op.sums).data});
    });
}

}  // namespace trireme::kernels
