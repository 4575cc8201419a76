#include "kernels/cuda/matmul/matmul_library.hpp"
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
    __device__ void process(std::size_t row, std::size_t column) const {
        gpu::store_or_add(output.row(row) + column, gpu::load<width>(bias, 0, column), true);
    }
};

void add_bias(device::CudaStream& stream, const Linear& op) {
    gpu::visit_type(op.output.dtype, [&]<class T>(T) {
        const AddBias<T> step{.bias = gpu::get_elements<T>(op.bias), .output = gpu::get_elements<T>(op.output)};
        gpu::for_each_vector<T>(stream, op.output.rows, op.output.columns,
                                gpu::may_use_vectors<T>(step.bias, step.output), step);
    });
}

void launch_activation(device::CudaStream& stream, const Linear& op) {
    run(stream, Activation{.input = op.output, .output = op.activated_output, .kind = op.activation});
}

// Returns true if a fused activation is precise enough and saves time. Its precision suffices for bf16. On GPUs
// before Hopper, a matmul with a fused activation may take longer than a matmul and a separate activation
// kernel.
bool fusing_saves_time(const device::CudaStream& stream, device::DType dtype) {
    constexpr int hopper = 90;
    return dtype == device::DType::bf16 && stream.work->facts().capability >= hopper;
}

}  // namespace

// The matmul library can fuse only one of our activations, gelu_tanh.
bool fuses_activation(const device::CudaStream& stream, device::DType dtype, ActivationKind kind) {
    return kind == ActivationKind::gelu_tanh && fusing_saves_time(stream, dtype);
}

void run(device::CudaStream& stream, const Linear& op) {
    MatmulLibrary& matmuls = stream.work->matmuls();
    device::GpuQueue& queue = stream.work->queue();
    GpuMatmul matmul{.left = op.input,
                     .right = op.weight,
                     .is_right_transposed = op.axes == WeightAxes::out_in,
                     .bias = op.bias,
                     .result = op.output};
    if (op.activated_output.is_present() && fuses_activation(stream, op.output.dtype, op.activation)) {
        matmul.activated_output = op.activated_output;
        if (multiply_fused(matmuls, queue, matmul)) return;
        matmul.activated_output = {};
    }
    if (!op.bias.is_present()) {
        multiply(matmuls, queue, matmul);
    } else if (!multiply_fused(matmuls, queue, matmul)) {
        matmul.bias = {};
        multiply(matmuls, queue, matmul);
        add_bias(stream, op);
    }
    if (op.activated_output.is_present()) launch_activation(stream, op);
}

void run(device::CudaStream& stream, const LinearBackwardInput& op) {
    MatmulLibrary& matmuls = stream.work->matmuls();
    device::GpuQueue& queue = stream.work->queue();
    GpuMatmul matmul{.left = op.grad_output,
                     .right = op.weight,
                     .is_right_transposed = op.axes == WeightAxes::in_out,
                     .result = op.grad_input,
                     .accumulate = op.accumulate};
    if (!op.activation_input.is_present()) return multiply(matmuls, queue, matmul);
    if (fuses_activation(stream, op.grad_input.dtype, op.activation)) {
        matmul.activation_input = op.activation_input;
        if (multiply_fused(matmuls, queue, matmul)) return;
        matmul.activation_input = {};
    }
    multiply(matmuls, queue, matmul);
    run(stream, ActivationBackward{.input = op.activation_input,
                                   .grad_output = op.grad_input,
                                   .grad_input = op.grad_input,
                                   .kind = op.activation});
}

// grad_weight is input^T grad_output in the layout (in, out), and grad_output^T input in the layout (out, in).
// A separate kernel computes the gradient of the bias, because on an H200 a matmul with the gradient of the
// bias fused into it takes longer.
void run(device::CudaStream& stream, const LinearBackwardWeight& op) {
    if (op.input.rows == 0) return;  // a library may refuse a depth of 0
    const bool is_in_out = op.axes == WeightAxes::in_out;
    multiply(stream.work->matmuls(), stream.work->queue(),
             {.left = is_in_out ? op.input : op.grad_output,
              .right = is_in_out ? op.grad_output : op.input,
              .is_left_transposed = true,
              .result = op.grad_weight,
              .accumulate = true});
    if (op.grad_bias.is_present()) run(stream, ColumnSums{.input = op.grad_output, .sums = op.grad_bias});
}

void run(device::CudaStream& stream, const ColumnSums& op) {
    gpu::visit_type(op.input.dtype, [&]<class T>(T) {
        using W = gpu::Accumulator<T>;
        gpu::sum_rows(stream, gpu::PlainTerms<T>{gpu::get_elements<T>(op.input)},
                      gpu::AddTo<W, 1>{gpu::get_elements<W>(op.sums).data});
    });
}

}  // namespace trireme::kernels
