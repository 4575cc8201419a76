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

RmsNorm rms_norm_of(GpuOperands& t, std::size_t rows, std::size_t channels) {
    return {t.random(rows, channels), t.random(1, channels), t.unwritten(rows, channels),
            t.wide_unwritten(1, rows)};
}

RmsNorm finished_rms_norm(GpuOperands& t, std::size_t rows, std::size_t channels) {
    const RmsNorm norm = rms_norm_of(t, rows, channels);
    t.run(norm);
    return norm;
}

RmsNormBackwardInput backward_of(GpuOperands& t, std::size_t rows, std::size_t channels, bool has_residual) {
    const RmsNorm norm = finished_rms_norm(t, rows, channels);
    return {.input = norm.input,
            .gain = norm.gain,
            .inv_rms = norm.inv_rms,
            .grad_output = t.random(rows, channels),
            .residual = has_residual ? t.random(rows, channels) : Tensor{},
            .grad_input = t.unwritten(rows, channels)};
}

TEST(GpuBackend, AgreesOnRmsNorm) {
    for_each_gpu_shape([](std::size_t rows, std::size_t channels) {
        expect_same_on_gpu([&](GpuOperands& t) { return rms_norm_of(t, rows, channels); });
    });
}

TEST(GpuBackend, AgreesOnRmsNormBackwardInput) {
    for_each_gpu_shape([](std::size_t rows, std::size_t channels) {
        if (channels == 1) return;  // the gradient is 0 but for rounding and epsilon
        for (const bool has_residual : {true, false})
            expect_same_on_gpu([&](GpuOperands& t) { return backward_of(t, rows, channels, has_residual); });
    });
}

TEST(GpuBackend, AgreesOnRmsNormBackwardWeight) {
    for_each_gpu_shape([](std::size_t rows, std::size_t channels) {
        expect_same_on_gpu([&](GpuOperands& t) {
            const RmsNorm norm = finished_rms_norm(t, rows, channels);
            return RmsNormBackwardWeight{norm.input, norm.inv_rms, t.random(rows, channels),
                                         t.wide_random(1, channels)};
        });
    });
}

TEST(GpuBackend, MayReplaceTheResidualOfANorm) {
    for (const std::size_t channels : {40, 257}) {
        expect_same_on_gpu([&](GpuOperands& t) {
            RmsNormBackwardInput op = backward_of(t, 5, channels, false);
            op.grad_input = t.random(5, channels);
            op.residual = op.grad_input;
            return op;
        });
    }
}

// That a block has, and of which more than its threads keep: by vectors and without.
TEST(GpuBackend, AgreesOnNormsOfLongRows) {
    for (const std::size_t channels : {1040, 1031, 4112, 8208}) {
        SCOPED_TRACE(channels);
        expect_same_on_gpu([&](GpuOperands& t) { return norm_of(t, 2, channels); });
        expect_same_on_gpu([&](GpuOperands& t) { return rms_norm_of(t, 2, channels); });
        expect_same_on_gpu([&](GpuOperands& t) { return backward_of(t, 2, channels, true); });
    }
}

// Runs of rows and strips of columns, some of them full.
TEST(GpuBackend, AgreesOnNormSumsOfManyRows) {
    for (const std::size_t channels : {3, 264}) {
        SCOPED_TRACE(channels);
        expect_same_on_gpu([&](GpuOperands& t) {
            const LayerNorm norm = finished_norm(t, 150, channels);
            return LayerNormBackwardWeight{norm.input,
                                           norm.mean,
                                           norm.inv_std,
                                           t.random(150, channels),
                                           t.wide_random(1, channels),
                                           t.wide_random(1, channels)};
        });
    }
}

// The squares of these, and the sum of the smaller ones' beside the larger, are beyond a float.
TEST(GpuBackend, NormalisesRowsOfEveryMagnitude) {
    for (const double magnitude : {0x1p-60, 0x1p-20, 1.0, 0x1p70}) {
        SCOPED_TRACE(magnitude);
        std::vector<double> row(100);
        for (std::size_t c = 0; c < row.size(); ++c) row[c] = c % 2 == 0 ? magnitude : -magnitude;
        expect_same_on_gpu([&](GpuOperands& t) {
            return RmsNorm{.input = t.numbers(1, 100, row),
                           .gain = t.random(1, 100),
                           .output = t.unwritten(1, 100),
                           .inv_rms = t.wide_unwritten(1, 1),
                           .epsilon = 0};
        });
    }
}

TEST(GpuBackend, KeepsANanWithinItsRowOfANorm) {
    std::vector<double> numbers(3 * 40, 1.5);
    numbers[40 + 20] = std::numeric_limits<double>::quiet_NaN();
    Stream stream = gpu_stream();
    GpuOperands t = GpuOperands::of_gpu(stream, DType::f32, 0);
    const RmsNorm op{t.numbers(3, 40, numbers), t.random(1, 40), t.unwritten(3, 40), t.unwritten(1, 3)};

    launch(stream, op);

    const std::vector<double> output = values(t.results()[2]);
    for (std::size_t i = 0; i < output.size(); ++i) EXPECT_EQ(std::isnan(output[i]), i / 40 == 1) << i;
}

TEST(GpuBackend, NormalisesNoRowsToNone) {
    expect_same_on_gpu([](GpuOperands& t) { return norm_of(t, 0, 40); });
    expect_same_on_gpu([](GpuOperands& t) { return backward_of(t, 0, 40, false); });
    expect_same_on_gpu([](GpuOperands& t) {
        const RmsNorm norm = rms_norm_of(t, 0, 40);
        return RmsNormBackwardWeight{norm.input, norm.inv_rms, t.random(0, 40), t.wide_random(1, 40)};
    });
}

}  // namespace
}  // namespace trireme
