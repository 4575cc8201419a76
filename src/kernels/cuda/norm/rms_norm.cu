#include "kernels/cuda/norm/norm_gradients.cuh"
#include "kernels/cuda/norm/norm_rows.cuh"
#include "trireme/kernels/norm.hpp"

namespace trireme::kernels {

using gpu::Wide;

void run(device::CudaStream& stream, const RmsNorm& op) {
    gpu::visit_type(op.input.dtype, [&]<class T>(T) {
        const gpu::NormForward<T> forward{.input = gpu::elements<T>(op.input),
                                          .gain = gpu::elements<T>(op.gain),
                                          .bias = {},
                                          .output = gpu::elements<T>(op.output),
                                          .mean = nullptr,
                                          .inv = gpu::elements<Wide<T>>(op.inv_rms).data,
                                          .epsilon = op.epsilon};
        gpu::normalise_rows<false>(stream, forward, op.sum);
    });
}

void run(device::CudaStream& stream, const RmsNormBackwardInput& op) {
    gpu::visit_type(op.input.dtype, [&]<class T>(T) {
        const gpu::NormBackward<T> backward{.input = gpu::elements<T>(op.input),
                                            .gain = gpu::elements<T>(op.gain),
                                            .mean = nullptr,
                                            .inv = gpu::elements<Wide<T>>(op.inv_rms).data,
                                            .grad_output = gpu::elements<T>(op.grad_output),
                                            .residual = gpu::elements_or_none<T>(op.residual),
                                            .grad_input = gpu::elements<T>(op.grad_input)};
        gpu::normalise_rows_backward<false>(stream, backward);
    });
}

void run(device::CudaStream& stream, const RmsNormBackwardWeight& op) {
    gpu::visit_type(op.input.dtype, [&]<class T>(T) {
        const gpu::NormTerms<false, T> terms{.input = gpu::elements<T>(op.input),
                                             .mean = nullptr,
                                             .inv = gpu::elements<Wide<T>>(op.inv_rms).data,
                                             .grad_output = gpu::elements<T>(op.grad_output)};
        gpu::sum_rows(stream, terms, gpu::AddTo<Wide<T>, 1>{gpu::elements<Wide<T>>(op.grad_gain).data});
    });
}

}  // namespace trireme::kernels
