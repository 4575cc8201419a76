// LayerNorm. The template argument `true` selects the norm that is centred: it subtracts the mean.
#include "kernels/cuda/norm/norm_gradients.cuh"
#include "kernels/cuda/norm/norm_rows.cuh"
#include "trireme/kernels/norm.hpp"

namespace trireme::kernels {

using gpu::Accumulator;

void run(device::CudaStream& stream, const LayerNorm& op) {
    gpu::visit_type(op.input.dtype, [&]<class T>(T) {
        using W = Accumulator<T>;
        const gpu::NormForward<T> forward{.input = gpu::get_elements<T>(op.input),
                                          .gain = gpu::get_elements<T>(op.gain),
                                          .bias = gpu::get_elements<T>(op.bias),
                                          .output = gpu::get_elements<T>(op.output),
                                          .mean = gpu::get_elements<W>(op.mean).data,
                                          .inv_deviation = gpu::get_elements<W>(op.inv_std).data,
                                          .epsilon = op.epsilon};
        gpu::normalise_rows<true>(stream, forward, op.fused_sum);
    });
}

void run(device::CudaStream& stream, const LayerNormBackwardInput& op) {
    gpu::visit_type(op.input.dtype, [&]<class T>(T) {
        using W = Accumulator<T>;
        const gpu::NormBackward<T> backward{.input = gpu::get_elements<T>(op.input),
                                            .gain = gpu::get_elements<T>(op.gain),
                                            .mean = gpu::get_elements<W>(op.mean).data,
                                            .inv_deviation = gpu::get_elements<W>(op.inv_std).data,
                                            .grad_output = gpu::get_elements<T>(op.grad_output),
                                            .residual = gpu::get_elements_or_none<T>(op.residual),
                                            .grad_input = gpu::get_elements<T>(op.grad_input)};
        gpu::normalise_rows_backward<true>(stream, backward);
    });
}

void run(device::CudaStream& stream, const LayerNormBackwardWeight& op) {
    gpu::visit_type(op.input.dtype, [&]<class T>(T) {
        using W = Accumulator<T>;
        const gpu::NormTerms<true, T> terms{.input = gpu::get_elements<T>(op.input),
                                            .mean = gpu::get_elements<W>(op.mean).data,
                                            .inv_deviation = gpu::get_elements<W>(op.inv_std).data,
                                            .grad_output = gpu::get_elements<T>(op.grad_output)};
        const gpu::AddTo<W, 2> sums{gpu::get_elements<W>(op.grad_gain).data,
                                    gpu::get_elements<W>(op.grad_bias).data};
        gpu::sum_rows(stream, terms, sums);
    });
}

}  // namespace trireme::kernels
