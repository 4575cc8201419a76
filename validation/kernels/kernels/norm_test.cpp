#include "trireme/kernels/norm.hpp"

#include "oracle.hpp"

namespace trireme::kernels {
namespace {

using Numbers = std::vector<double>;

TEST(LayerNorm, NormalisesScalesAndShiftsEachRow) {
    for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
        Operands t(dtype, 3);
        // The rows have means 5 and 0, and variances 4 and 1/4.
        const LayerNorm op{.input = t.numbers(2, 4, {3, 7, 3, 7, -0.5, 0.5, 0.5, -0.5}),
                           .gain = t.numbers(1, 4, {1, 2, 3, 4}),
                           .bias = t.numbers(1, 4, {10, 20, 30, 40}),
                           .output = t.unwritten(2, 4),
                           .mean = t.unwritten(1, 2),
                           .inv_std = t.unwritten(1, 2),
                           .epsilon = 0};

        run_reference(op);

        EXPECT_EQ(values(op.output), (Numbers{9, 22, 27, 44, 9, 22, 33, 36}));
        EXPECT_EQ(values(op.mean), (Numbers{5, 0}));
        EXPECT_EQ(values(op.inv_std), (Numbers{0.5, 2}));
        EXPECT_TRUE(t.has_clean_gaps());
    }
}

// A norm with a fused sum equals the sum followed by the norm.
template <class NormOp, class Make>
void expect_fused_sum_like_separate(Make&& make) {
    for (device::Stream stream :
         {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{2}}}) {
        Operands t(device::DType::f64, 2);
        const device::Tensor residual = t.random(3, 8);
        const device::Tensor added = t.random(3, 8);
        NormOp apart = make(t);
        NormOp joined = apart;
        joined.output = t.unwritten(3, 8);
        const device::Tensor first = t.unwritten(3, 8), second = t.unwritten(3, 8);
        apart.input = first;
        joined.input = second;
        joined.fused_sum = {.residual = residual, .input = added, .output = second};

        launch(stream, ResidualAdd{.residual = residual, .input = added, .output = first});
        launch(stream, apart);
        launch(stream, joined);

        EXPECT_EQ(values(second), values(first));
        EXPECT_EQ(values(joined.output), values(apart.output));
        EXPECT_TRUE(t.has_clean_gaps());
        EXPECT_EQ(joined.cost().bytes, apart.cost().bytes + static_cast<double>(2 * residual.bytes()));
    }
}

TEST(LayerNorm, ComputesAFusedResidualSumLikeASeparateOne) {
    expect_fused_sum_like_separate<LayerNorm>([](Operands& t) {
        return LayerNorm{t.zeros(3, 8),     t.random(1, 8),    t.random(1, 8),
                         t.unwritten(3, 8), t.unwritten(1, 3), t.unwritten(1, 3)};
    });
}

TEST(RmsNorm, ComputesAFusedResidualSumLikeASeparateOne) {
    expect_fused_sum_like_separate<RmsNorm>([](Operands& t) {
        return RmsNorm{t.zeros(3, 8), t.random(1, 8), t.unwritten(3, 8), t.unwritten(1, 3)};
    });
}

TEST(LayerNorm, RejectsAFusedSumThatIsNotItsInput) {
    Operands t;
    LayerNorm op{t.random(3, 4),    t.random(1, 4),    t.random(1, 4),
                 t.unwritten(3, 4), t.unwritten(1, 3), t.unwritten(1, 3)};
    op.fused_sum = {.input = t.random(3, 4), .output = t.unwritten(3, 4)};
    EXPECT_EQ(refusal(op), "layer_norm: the output of the fused sum is not the input of the norm");
}

TEST(LayerNorm, AddsEpsilonToTheVariance) {
    Operands t;
    const LayerNorm op{.input = t.numbers(1, 2, {7, 7}),
                       .gain = t.numbers(1, 2, {1, 1}),
                       .bias = t.numbers(1, 2, {3, 4}),
                       .output = t.unwritten(1, 2),
                       .mean = t.unwritten(1, 1),
                       .inv_std = t.unwritten(1, 1),
                       .epsilon = 0.0625};

    run_reference(op);

    EXPECT_EQ(values(op.output), (Numbers{3, 4}));
    EXPECT_EQ(values(op.inv_std), (Numbers{4}));
}

// A forward pass and both halves of its backward pass over 4 rows of 6 channels.
struct Norm {
    explicit Norm(Operands& t)
        : input(t.random(4, 6)), gain(t.random(1, 6)), bias(t.random(1, 6)), grad_output(t.random(4, 6)) {
        forward = {input, gain, bias, t.unwritten(4, 6), t.unwritten(1, 4), t.unwritten(1, 4)};
        back = {input, gain, forward.mean, forward.inv_std, grad_output, {}, t.unwritten(4, 6)};
        back_weight = {input, forward.mean, forward.inv_std, grad_output, t.zeros(1, 6), t.zeros(1, 6)};
    }
    double loss() const {
        run_reference(forward);
        return dot(forward.output, grad_output);
    }

    device::Tensor input, gain, bias, grad_output;
    LayerNorm forward;
    LayerNormBackwardInput back;
    LayerNormBackwardWeight back_weight;
};

TEST(LayerNormBackward, MatchesFiniteDifferences) {
    Operands t;
    const Norm norm(t);
    const auto loss = [&] { return norm.loss(); };

    run_reference(norm.forward);
    run_reference(norm.back);
    run_reference(norm.back_weight);

    expect_gradient("input", norm.back.grad_input, norm.input, loss);
    expect_gradient("gain", norm.back_weight.grad_gain, norm.gain, loss);
    expect_gradient("bias", norm.back_weight.grad_bias, norm.bias, loss);
}

TEST(LayerNormBackwardInput, AddsTheResidualGradient) {
    Operands t;
    Norm norm(t);
    const device::Tensor residual = t.random(4, 6);
    norm.back.residual = residual;
    const auto loss = [&] { return norm.loss() + dot(norm.input, residual); };

    run_reference(norm.forward);
    run_reference(norm.back);

    expect_gradient("input", norm.back.grad_input, norm.input, loss);
}

TEST(LayerNormBackwardInput, AllowsGradInputToAliasResidual) {
    Operands t;
    Norm norm(t);
    norm.back.residual = t.random(4, 6);
    run_reference(norm.forward);
    run_reference(norm.back);
    const std::vector<double> apart = values(norm.back.grad_input);
    const device::Tensor both = t.numbers(4, 6, values(norm.back.residual));
    norm.back.residual = both;
    norm.back.grad_input = both;

    run_reference(norm.back);

    EXPECT_EQ(values(both), apart);
}

TEST(LayerNormBackwardWeight, AccumulatesGainAndBiasGradients) {
    Operands t;
    const LayerNormBackwardWeight op{.input = t.numbers(2, 2, {1, 3, 5, 9}),
                                     .mean = t.numbers(1, 2, {2, 7}),
                                     .inv_std = t.numbers(1, 2, {1, 0.5}),
                                     .grad_output = t.numbers(2, 2, {10, 20, 30, 40}),
                                     .grad_gain = t.numbers(1, 2, {100, 200}),
                                     .grad_bias = t.numbers(1, 2, {1000, 2000})};

    run_reference(op);

    EXPECT_EQ(values(op.grad_gain), (Numbers{100 - 10 - 30, 200 + 20 + 40}));
    EXPECT_EQ(values(op.grad_bias), (Numbers{1040, 2060}));
}

TEST(LayerNorm, RejectsMismatchedShapes) {
    Operands t;
    Norm norm(t);
    norm.forward.gain = t.random(1, 5);
    norm.back.residual = t.random(3, 6);
    norm.back_weight.mean = t.random(1, 3);

    EXPECT_EQ(refusal(norm.forward), "layer_norm: gain is f64 1 x 5, not f64 1 x 6");
    EXPECT_EQ(refusal(norm.back), "layer_norm_backward_input: residual is f64 3 x 6, not f64 4 x 6");
    EXPECT_EQ(refusal(norm.back_weight), "layer_norm_backward_weight: mean is f64 1 x 3, not f64 1 x 4");
}

TEST(LayerNorm, CountsBytesOfEachOperandOnce) {
    Operands t(device::DType::f32);
    const Norm norm(t);

    EXPECT_EQ(norm.forward.cost().flops, 0);
    EXPECT_EQ(norm.forward.cost().bytes, 4 * (24 + 6 + 6 + 24 + 4 + 4));
    EXPECT_EQ(norm.back.cost().bytes, 4 * (24 + 6 + 4 + 4 + 24 + 24));
    EXPECT_EQ(norm.back_weight.cost().bytes, 4 * (24 + 4 + 4 + 24 + 2 * 6 + 2 * 6));
}

}  // namespace
}  // namespace trireme::kernels
