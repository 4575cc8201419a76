#include "trireme/kernels/norm.hpp"

#include "gpu_comparison.hpp"

namespace trireme {
namespace {

LayerNorm norm_of(GpuOperands& t, std::size_t rows, std::size_t channels) {
    return {t.random(rows, channels),    t.random(1, channels),     t.random(1, channels),
            t.unwritten(rows, channels), t.wide_unwritten(1, rows), t.wide_unwritten(1, rows)};
}

LayerNorm finished_norm(GpuOperands& t, std::size_t rows, std::size_t channels) {
    const LayerNorm norm = norm_of(t, rows, channels);
    t.run(norm);
    return norm;
}

TEST(GpuBackend, AgreesOnLayerNorm) {
    for_each_gpu_shape([](std::size_t rows, std::size_t channels) {
        expect_same_on_gpu([&](GpuOperands& t) { return norm_of(t, rows, channels); });
    });
}

TEST(GpuBackend, AgreesOnLayerNormBackwardInput) {
    for_each_gpu_shape([](std::size_t rows, std::size_t channels) {
        if (channels == 1) return;  // the gradient is 0 but for rounding, times an inv_std of 316
        for (const bool has_residual : {true, false}) {
            expect_same_on_gpu([&](GpuOperands& t) {
                const LayerNorm norm = finished_norm(t, rows, channels);
                return LayerNormBackwardInput{.input = norm.input,
                                              .gain = norm.gain,
                                              .mean = norm.mean,
                                              .inv_std = norm.inv_std,
                                              .grad_output = t.random(rows, channels),
                                              .residual = has_residual ? t.random(rows, channels) : Tensor{},
                                              .grad_input = t.unwritten(rows, channels)};
            });
        }
    });
}

TEST(GpuBackend, AgreesOnLayerNormBackwardWeight) {
    for_each_gpu_shape([](std::size_t rows, std::size_t channels) {
        expect_same_on_gpu([&](GpuOperands& t) {
            const LayerNorm norm = finished_norm(t, rows, channels);
            return LayerNormBackwardWeight{norm.input,
                                           norm.mean,
                                           norm.inv_std,
                                           t.random(rows, channels),
                                           t.wide_random(1, channels),
                                           t.wide_random(1, channels)};
        });
    });
}

}  // namespace
}  // namespace trireme
