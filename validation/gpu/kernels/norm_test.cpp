#include "trireme/kernels/norm.hpp"

#include "gpu_comparison.hpp"

namespace trireme {
namespace {

kernels::LayerNorm norm_of(GpuOperands& t, std::size_t rows, std::size_t channels) {
    return {t.random(rows, channels),    t.random(1, channels),     t.random(1, channels),
            t.unwritten(rows, channels), t.wide_unwritten(1, rows), t.wide_unwritten(1, rows)};
}

kernels::LayerNorm finished_norm(GpuOperands& t, std::size_t rows, std::size_t channels) {
    const kernels::LayerNorm norm = norm_of(t, rows, channels);
    t.run(norm);
    return norm;
}

TEST(GpuBackend, MatchesReferenceForLayerNorm) {
    for_each_gpu_shape([](std::size_t rows, std::size_t channels) {
        expect_same_on_gpu([&](GpuOperands& t) { return norm_of(t, rows, channels); });
    });
}

TEST(GpuBackend, MatchesReferenceForLayerNormBackwardInput) {
    for_each_gpu_shape([](std::size_t rows, std::size_t channels) {
        if (channels == 1) return;  // the gradient is 0 except for rounding, times an inv_std of 316
        for (const bool has_residual : {true, false}) {
            expect_same_on_gpu([&](GpuOperands& t) {
                const kernels::LayerNorm norm = finished_norm(t, rows, channels);
                return kernels::LayerNormBackwardInput{
                    .input = norm.input,
                    .gain = norm.gain,
                    .mean = norm.mean,
                    .inv_std = norm.inv_std,
                    .grad_output = t.random(rows, channels),
                    .residual = has_residual ? t.random(rows, channels) : device::Tensor{},
                    .grad_input = t.unwritten(rows, channels)};
            });
        }
    });
}

TEST(GpuBackend, MatchesReferenceForLayerNormBackwardWeight) {
    for_each_gpu_shape([](std::size_t rows, std::size_t channels) {
        expect_same_on_gpu([&](GpuOperands& t) {
            const kernels::LayerNorm norm = finished_norm(t, rows, channels);
            return kernels::LayerNormBackwardWeight{norm.input,
                                                    norm.mean,
                                                    norm.inv_std,
                                                    t.random(rows, channels),
                                                    t.wide_random(1, channels),
                                                    t.wide_random(1, channels)};
        });
    });
}

kernels::RmsNorm rms_norm_of(GpuOperands& t, std::size_t rows, std::size_t channels) {
    return {t.random(rows, channels), t.random(1, channels), t.unwritten(rows, channels),
            t.wide_unwritten(1, rows)};
}

kernels::RmsNorm finished_rms_norm(GpuOperands& t, std::size_t rows, std::size_t channels) {
    const kernels::RmsNorm norm = rms_norm_of(t, rows, channels);
    t.run(norm);
    return norm;
}

kernels::RmsNormBackwardInput backward_of(GpuOperands& t, std::size_t rows, std::size_t channels,
                                          bool has_residual) {
    const kernels::RmsNorm norm = finished_rms_norm(t, rows, channels);
    return {.input = norm.input,
            .gain = norm.gain,
            .inv_rms = norm.inv_rms,
            .grad_output = t.random(rows, channels),
            .residual = has_residual ? t.random(rows, channels) : device::Tensor{},
            .grad_input = t.unwritten(rows, channels)};
}

TEST(GpuBackend, MatchesReferenceForRmsNorm) {
    for_each_gpu_shape([](std::size_t rows, std::size_t channels) {
        expect_same_on_gpu([&](GpuOperands& t) { return rms_norm_of(t, rows, channels); });
    });
}

TEST(GpuBackend, MatchesReferenceForRmsNormBackwardInput) {
    for_each_gpu_shape([](std::size_t rows, std::size_t channels) {
        if (channels == 1) return;  // the gradient is 0 except for rounding and epsilon
        for (const bool has_residual : {true, false})
            expect_same_on_gpu([&](GpuOperands& t) { return backward_of(t, rows, channels, has_residual); });
    });
}

TEST(GpuBackend, MatchesReferenceForRmsNormBackwardWeight) {
    for_each_gpu_shape([](std::size_t rows, std::size_t channels) {
        expect_same_on_gpu([&](GpuOperands& t) {
            const kernels::RmsNorm norm = finished_rms_norm(t, rows, channels);
            return kernels::RmsNormBackwardWeight{norm.input, norm.inv_rms, t.random(rows, channels),
                                                  t.wide_random(1, channels)};
        });
    });
}

// The residual sum that a norm reads and computes itself; `rate` is the dropout rate.
kernels::ResidualAdd make_sum(GpuOperands& t, std::size_t rows, std::size_t channels, double rate,
                              bool has_residual) {
    kernels::ResidualAdd sum{.residual = has_residual ? t.random(rows, channels) : device::Tensor{},
                             .input = t.random(rows, channels),
                             .output = t.unwritten(rows, channels)};
    if (rate > 0) sum.dropout = dropout_of(t, rows, rate, 0);
    return sum;
}

template <class NormOp>
NormOp fuse_sum(NormOp norm, const kernels::ResidualAdd& sum) {
    norm.input = sum.output;
    norm.fused_sum = sum;
    return norm;
}

template <class Test>
void for_each_sum(Test&& test) {
    for (const std::size_t channels : {6, 64, 257, 2056}) {
        for (const double rate : {0.0, 0.25}) {
            for (const bool has_residual : {true, false}) {
                SCOPED_TRACE(cat(channels, " channels, dropout ", rate, has_residual ? ", a residual" : ""));
                test(channels, rate, has_residual);
            }
        }
    }
}

TEST(GpuBackend, MatchesReferenceForNormsFusedWithResidualAdd) {
    for_each_sum([](std::size_t channels, double rate, bool has_residual) {
        expect_same_on_gpu([&](GpuOperands& t) {
            return fuse_sum(norm_of(t, 5, channels), make_sum(t, 5, channels, rate, has_residual));
        });
        expect_same_on_gpu([&](GpuOperands& t) {
            return fuse_sum(rms_norm_of(t, 5, channels), make_sum(t, 5, channels, rate, has_residual));
        });
    });
}

// The fused operation gives the same bits as separate ones, because a recomputation may use separate ones.
TEST(GpuBackend, ComputesFusedNormsBitForBitLikeSeparateOnes) {
    for_each_sum([](std::size_t channels, double rate, bool has_residual) {
        for (const device::DType dtype : {device::DType::f32, device::DType::bf16}) {
            device::Stream stream = kernels::make_gpu_stream();
            GpuOperands fused = GpuOperands::of_gpu(stream, dtype, 0);
            GpuOperands separate = GpuOperands::of_gpu(stream, dtype, 0);
            const auto make = [&](GpuOperands& t) {
                return fuse_sum(norm_of(t, 5, channels), make_sum(t, 5, channels, rate, has_residual));
            };
            launch(stream, make(fused));
            kernels::LayerNorm norm = make(separate);
            launch(stream, norm.fused_sum);
            norm.fused_sum = {};
            launch(stream, norm);
            expect_same_bits(fused, separate);
        }
    });
}

TEST(GpuBackend, WritesNormGradientsOverTheirResidual) {
    for (const std::size_t channels : {40, 257}) {
        expect_same_on_gpu([&](GpuOperands& t) {
            kernels::RmsNormBackwardInput op = backward_of(t, 5, channels, false);
            op.grad_input = t.random(5, channels);
            op.residual = op.grad_input;
            return op;
        });
    }
}

// Rows that a whole block shares, some longer than its threads can keep, with and without vectors.
TEST(GpuBackend, MatchesReferenceForNormsOfLongRows) {
    for (const std::size_t channels : {1040, 1031, 4112, 8208}) {
        SCOPED_TRACE(channels);
        expect_same_on_gpu([&](GpuOperands& t) { return norm_of(t, 2, channels); });
        expect_same_on_gpu([&](GpuOperands& t) { return rms_norm_of(t, 2, channels); });
        expect_same_on_gpu([&](GpuOperands& t) { return backward_of(t, 2, channels, true); });
    }
}

// Sums over blocks of rows and strips of columns, some of which are full.
TEST(GpuBackend, MatchesReferenceForNormWeightGradientsOfManyRows) {
    for (const std::size_t channels : {3, 264}) {
        SCOPED_TRACE(channels);
        expect_same_on_gpu([&](GpuOperands& t) {
            const kernels::LayerNorm norm = finished_norm(t, 150, channels);
            return kernels::LayerNormBackwardWeight{norm.input,
                                                    norm.mean,
                                                    norm.inv_std,
                                                    t.random(150, channels),
                                                    t.wide_random(1, channels),
                                                    t.wide_random(1, channels)};
        });
    }
}

// The squares of the largest numbers overflow in float.
TEST(GpuBackend, MatchesReferenceForRmsNormAtAllMagnitudes) {
    for (const double magnitude : {0x1p-60, 0x1p-20, 1.0, 0x1p70}) {
        SCOPED_TRACE(magnitude);
        std::vector<double> row(100);
        for (std::size_t c = 0; c < row.size(); ++c) row[c] = c % 2 == 0 ? magnitude : -magnitude;
        expect_same_on_gpu([&](GpuOperands& t) {
            return kernels::RmsNorm{.input = t.numbers(1, 100, row),
                                    .gain = t.random(1, 100),
                                    .output = t.unwritten(1, 100),
                                    .inv_rms = t.wide_unwritten(1, 1),
                                    .epsilon = 0};
        });
    }
}

TEST(GpuBackend, KeepsNaNWithinItsRowInRmsNorm) {
    std::vector<double> numbers(3 * 40, 1.5);
    numbers[40 + 20] = std::numeric_limits<double>::quiet_NaN();
    device::Stream stream = kernels::make_gpu_stream();
    GpuOperands t = GpuOperands::of_gpu(stream, device::DType::f32, 0);
    const kernels::RmsNorm op{t.numbers(3, 40, numbers), t.random(1, 40), t.unwritten(3, 40),
                              t.unwritten(1, 3)};

    launch(stream, op);

    const std::vector<double> output = kernels::values(t.results()[2]);
    for (std::size_t i = 0; i < output.size(); ++i) EXPECT_EQ(std::isnan(output[i]), i / 40 == 1) << i;
}

TEST(GpuBackend, AcceptsNormsWithoutRows) {
    expect_same_on_gpu([](GpuOperands& t) { return norm_of(t, 0, 40); });
    expect_same_on_gpu([](GpuOperands& t) { return backward_of(t, 0, 40, false); });
    expect_same_on_gpu([](GpuOperands& t) {
        const kernels::RmsNorm norm = rms_norm_of(t, 0, 40);
        return kernels::RmsNormBackwardWeight{norm.input, norm.inv_rms, t.random(0, 40), t.wide_random(1, 40)};
    });
}

}  // namespace
}  // namespace trireme
