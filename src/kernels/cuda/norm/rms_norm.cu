// RMSNorm. The template argument `false` selects the norm that is not centred: it does not subtract the mean.
#include "kernels/cuda/norm/norm_gradients.cuh"
#include "kernels/cuda/norm/norm_rows.cuh"
#include "trireme/kernels/norm.hpp"

namespace trireme::kernels {

using gpu::Accumulator;

void run(device::CudaStream& stream, const RmsNorm& op) {
    gpu::visit_type(op.input.dtype, [&]<class T>(T) {
        const gpu::NormForward<T> forward{.input = gpu::get_elements<T>(op.input),
                                          .gain = gpu::get_elements<T>(op.gain),
                                          .bias = {},
                                          .output = gpu::get_elements<T>(op.output),
                                          .mean = nullptr,
                                          .inv_deviation = gpu::get_elements<Accumulator<T>>(op.inv_rms).data,
                                          .epsilon = op.epsilon};
        gpu::normalise_rows<false>(stream, forward, op.fused_sum);
    });
}

void run(device::CudaStream& stream, const RmsNormBackwardInput& op) {
    gpu::visit_type(op.input.dtype, [&]<class T>(T) {
        const gpu::NormBackward<T> backward{.input = gpu::get_elements<T>(op.input),
                                            .gain = gpu::get_elements<T>(op.gain),
                                            .mean = nullptr,
                                            .inv_deviation = gpu::get_elements<Accumulator<T>>(op.inv_rms).data,
                                            .grad_output = gpu::get_elements<T>(op.grad_output),
                                            .residual = gpu::get_elements_or_none<T>(op.residual),
                                            .grad_input = gpu::get_elements<T>(op.grad_input)};
        gpu::normalise_rows_backward<false>(stream, backward);
    });
}

void run(device::CudaStream& stream, const RmsNormBackwardWeight& op) {
    gpu::visit_type(op.input.dtype, [&]<class T>(T) {
        const gpu::NormTerms<false, T> terms{
            .input = gpu::get_elements<T>(op.input),
            .mean = nullptr,
            .inv_deviation = gpu::get_elements<Accumulator<T>>(op.inv_rms).data,
            .grad_output = gpu::get_elements<T>(op.grad_output)};
        gpu::sum_rows(stream, terms,
                      gpu::AddTo<Accumulator<T>, 1>{gpu::get_elements<Accumulator<T>>(op.grad_gain).data});
    });
}

}  // namespace trireme::kernels
