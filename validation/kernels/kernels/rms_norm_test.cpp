#include "comparison.hpp"
#include "trireme/kernels/norm.hpp"

namespace trireme::kernels {
namespace {

using Numbers = std::vector<double>;

TEST(RmsNorm, DividesEachRowByTheRootOfItsMeanSquareAndScales) {
    for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
        Operands t(dtype, 3);
        // The rows have mean squares 4 and 1/4.
        const RmsNorm op{.input = t.numbers(2, 4, {2, -2, 2, 2, -0.5, 0.5, 0.5, -0.5}),
                         .gain = t.numbers(1, 4, {1, 2, 3, 4}),
                         .output = t.unwritten(2, 4),
                         .inv_rms = t.unwritten(1, 2),
                         .epsilon = 0};

        run_reference(op);

        EXPECT_EQ(values(op.output), (Numbers{1, -2, 3, 4, -1, 2, 3, -4}));
        EXPECT_EQ(values(op.inv_rms), (Numbers{0.5, 2}));
        EXPECT_TRUE(t.has_clean_gaps());
    }
}

TEST(RmsNorm, AddsEpsilonToTheMeanSquare) {
    Operands t;
    const RmsNorm op{.input = t.numbers(1, 2, {0, 0}),
                     .gain = t.numbers(1, 2, {1, 1}),
                     .output = t.unwritten(1, 2),
                     .inv_rms = t.unwritten(1, 1),
                     .epsilon = 0.0625};

    run_reference(op);

    EXPECT_EQ(values(op.output), (Numbers{0, 0}));
    EXPECT_EQ(values(op.inv_rms), (Numbers{4}));
}

RmsNorm rms_norm_of(Operands& t, std::size_t rows, std::size_t channels) {
    return {t.random(rows, channels), t.random(1, channels), t.unwritten(rows, channels), t.unwritten(1, rows)};
}

// Returns a norm of the next values in `t`, computed by the reference.
RmsNorm finished_norm(Operands& t, std::size_t rows, std::size_t channels) {
    const RmsNorm norm = rms_norm_of(t, rows, channels);
    run_reference(norm);
    return norm;
}

// A forward pass and both halves of its backward pass over 4 rows of 6 channels.
struct RmsNormPasses {
    explicit RmsNormPasses(Operands& t)
        : input(t.random(4, 6)), gain(t.random(1, 6)), grad_output(t.random(4, 6)) {
        forward = {input, gain, t.unwritten(4, 6), t.unwritten(1, 4)};
        back = {input, gain, forward.inv_rms, grad_output, {}, t.unwritten(4, 6)};
        back_weight = {input, forward.inv_rms, grad_output, t.zeros(1, 6)};
    }
    double loss() const {
        run_reference(forward);
        return dot(forward.output, grad_output);
    }

    device::Tensor input, gain, grad_output;
    RmsNorm forward;
    RmsNormBackwardInput back;
    RmsNormBackwardWeight back_weight;
};

TEST(RmsNormBackward, MatchesFiniteDifferences) {
    Operands t;
    const RmsNormPasses norm(t);
    const auto loss = [&] { return norm.loss(); };

    run_reference(norm.forward);
    run_reference(norm.back);
    run_reference(norm.back_weight);

    expect_gradient("input", norm.back.grad_input, norm.input, loss);
    expect_gradient("gain", norm.back_weight.grad_gain, norm.gain, loss);
}

TEST(RmsNormBackwardInput, AddsTheResidualGradient) {
    Operands t;
    RmsNormPasses norm(t);
    const device::Tensor residual = t.random(4, 6);
    norm.back.residual = residual;
    const auto loss = [&] { return norm.loss() + dot(norm.input, residual); };

    run_reference(norm.forward);
    run_reference(norm.back);

    expect_gradient("input", norm.back.grad_input, norm.input, loss);
}

TEST(RmsNormBackwardInput, AllowsGradInputToAliasResidual) {
    Operands t;
    RmsNormPasses norm(t);
    norm.back.residual = t.random(4, 6);
    run_reference(norm.forward);
    run_reference(norm.back);
    const Numbers apart = values(norm.back.grad_input);
    const device::Tensor both = t.numbers(4, 6, values(norm.back.residual));
    norm.back.residual = both;
    norm.back.grad_input = both;

    run_reference(norm.back);

    EXPECT_EQ(values(both), apart);
}

TEST(RmsNormBackwardWeight, AccumulatesGainGradients) {
    Operands t;
    const RmsNormBackwardWeight op{.input = t.numbers(2, 2, {1, 3, 4, 8}),
                                   .inv_rms = t.numbers(1, 2, {1, 0.5}),
                                   .grad_output = t.numbers(2, 2, {10, 20, 30, 40}),
                                   .grad_gain = t.numbers(1, 2, {100, 200})};

    run_reference(op);

    EXPECT_EQ(values(op.grad_gain), (Numbers{100 + 10 + 60, 200 + 60 + 160}));
}

TEST(RmsNorm, RejectsMismatchedShapes) {
    Operands t;
    RmsNormPasses norm(t);
    norm.forward.gain = t.random(1, 5);
    norm.back.residual = t.random(3, 6);
    norm.back_weight.inv_rms = t.random(1, 3);

    EXPECT_EQ(refusal(norm.forward), "rms_norm: gain is f64 1 x 5, not f64 1 x 6");
    EXPECT_EQ(refusal(norm.back), "rms_norm_backward_input: residual is f64 3 x 6, not f64 4 x 6");
    EXPECT_EQ(refusal(norm.back_weight), "rms_norm_backward_weight: inv_rms is f64 1 x 3, not f64 1 x 4");
}

TEST(RmsNorm, CountsBytesOfEachOperandOnce) {
    Operands t(device::DType::f32);
    const RmsNormPasses norm(t);

    EXPECT_EQ(norm.forward.cost().flops, 0);
    EXPECT_EQ(norm.forward.cost().bytes, 4 * (24 + 6 + 24 + 4));
    EXPECT_EQ(norm.back.cost().bytes, 4 * (24 + 6 + 4 + 24 + 24));
    EXPECT_EQ(norm.back_weight.cost().bytes, 4 * (24 + 4 + 24 + 2 * 6));
}

TEST(CpuBackend, MatchesReferenceForRmsNorm) {
    for_each_shape([](std::size_t rows, std::size_t channels) {
        expect_same_on_cpu([&](Operands& t) { return rms_norm_of(t, rows, channels); });
    });
}

TEST(CpuBackend, MatchesReferenceForRmsNormBackwardInput) {
    for_each_shape([](std::size_t rows, std::size_t channels) {
        if (channels == 1) return;  // the gradient is 0 except for rounding and epsilon
        expect_same_on_cpu([&](Operands& t) {
            const RmsNorm norm = finished_norm(t, rows, channels);
            return RmsNormBackwardInput{norm.input,
                                        norm.gain,
                                        norm.inv_rms,
                                        t.random(rows, channels),
                                        t.random(rows, channels),
                                        t.unwritten(rows, channels)};
        });
        expect_same_on_cpu([&](Operands& t) {  // overwrites the residual
            const RmsNorm norm = finished_norm(t, rows, channels);
            const device::Tensor both = t.random(rows, channels);
            return RmsNormBackwardInput{norm.input, norm.gain, norm.inv_rms, t.random(rows, channels),
                                        both,       both};
        });
        expect_same_on_cpu([&](Operands& t) {
            const RmsNorm norm = finished_norm(t, rows, channels);
            return RmsNormBackwardInput{.input = norm.input,
                                        .gain = norm.gain,
                                        .inv_rms = norm.inv_rms,
                                        .grad_output = t.random(rows, channels),
                                        .grad_input = t.unwritten(rows, channels)};
        });
    });
}

TEST(CpuBackend, MatchesReferenceForRmsNormBackwardWeight) {
    for_each_shape([](std::size_t rows, std::size_t channels) {
        expect_same_on_cpu([&](Operands& t) {
            const RmsNorm norm = finished_norm(t, rows, channels);
            return RmsNormBackwardWeight{norm.input, norm.inv_rms, t.random(rows, channels),
                                         t.random(1, channels)};
        });
    });
}

TEST(CpuBackend, NormalisesRowsIdenticallyWithAnyThreadCount) {
    expect_same_bits_on_any_threads([](Operands& t) { return rms_norm_of(t, 301, 517); });
    expect_same_bits_on_any_threads([](Operands& t) {
        return RmsNormBackwardInput{.input = t.random(301, 517),
                                    .gain = t.random(1, 517),
                                    .inv_rms = t.random(1, 301),
                                    .grad_output = t.random(301, 517),
                                    .grad_input = t.unwritten(301, 517)};
    });
    expect_same_bits_on_any_threads([](Operands& t) {
        return RmsNormBackwardWeight{t.random(301, 517), t.random(1, 301), t.random(301, 517),
                                     t.random(1, 517)};
    });
}

// The squares of the largest numbers overflow in float.
TEST(CpuBackend, NormalisesRowsOfEveryMagnitude) {
    for (const double magnitude : {0x1p-60, 0x1p-20, 1.0, 0x1p70}) {
        SCOPED_TRACE(magnitude);
        Operands t(device::DType::f32);
        RmsNorm op = rms_norm_of(t, 1, 100);
        for (std::size_t c = 0; c < 100; ++c) set(t.all()[0], 0, c, c % 2 == 0 ? magnitude : -magnitude);
        op.epsilon = 0;
        device::Stream stream{device::CpuStream{}};

        launch(stream, op);

        EXPECT_EQ(get(op.inv_rms, 0, 0), 1 / magnitude);
        for (std::size_t c = 0; c < 100; ++c) {
            EXPECT_EQ(get(op.output, 0, c), (c % 2 == 0 ? 1 : -1) * get(op.gain, 0, c));
        }
    }
}

TEST(CpuBackend, KeepsNaNWithinItsRowInRmsNorm) {
    for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
        Operands t(dtype);
        const RmsNorm op = rms_norm_of(t, 3, 37);
        set(t.all()[0], 1, 20, nan);
        device::Stream stream{device::CpuStream{}};

        launch(stream, op);

        for (std::size_t c = 0; c < 37; ++c) {
            EXPECT_FALSE(std::isnan(get(op.output, 0, c)));
            EXPECT_TRUE(std::isnan(get(op.output, 1, c)));
            EXPECT_FALSE(std::isnan(get(op.output, 2, c)));
        }
    }
}

}  // namespace
}  // namespace trireme::kernels
