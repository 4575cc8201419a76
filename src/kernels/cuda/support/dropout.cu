#include "kernels/cuda/norm/residual_add.cuh"
#include "kernels/cuda/support/elementwise.cuh"

namespace trireme::kernels {

void run(device::CudaStream& stream, const ResidualAdd& op) {
    gpu::visit_type(op.input.dtype, [&]<class T>(T) {
        gpu::visit_add<T>(op, [&](const auto& step, bool may_use_vectors) {
            gpu::for_each_vector<T>(stream, op.input.rows, op.input.columns, may_use_vectors, step);
        });
    });
}

// The gradient passes through the same dropout as the input did, without a residual.
void run(device::CudaStream& stream, const DropoutBackward& op) {
    run(stream, ResidualAdd{.input = op.grad_output, .output = op.grad_input, .dropout = op.dropout});
}

}  // namespace trireme::kernels
