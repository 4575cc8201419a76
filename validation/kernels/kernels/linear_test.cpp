#include "trireme/kernels/linear.hpp"

#include "oracle.hpp"

namespace trireme::kernels {
namespace {

using Numbers = std::vector<double>;

//   input  1 2    W  1 0 2    bias  10 20 30
//          3 4       0 1 3
const Numbers in_out{1, 0, 2, 0, 1, 3};
const Numbers out_in{1, 0, 0, 1, 2, 3};

device::Tensor small_weight(Operands& t, WeightAxes axes) {
    return axes == WeightAxes::in_out ? t.numbers(2, 3, in_out) : t.numbers(3, 2, out_in);
}

TEST(Linear, MultipliesAndAddsBias) {
    for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
        for (const WeightAxes axes : {WeightAxes::in_out, WeightAxes::out_in}) {
            Operands t(dtype, 2);
            const Linear op{.input = t.numbers(2, 2, {1, 2, 3, 4}),
                            .weight = small_weight(t, axes),
                            .bias = t.numbers(1, 3, {10, 20, 30}),
                            .output = t.unwritten(2, 3),
                            .axes = axes};

            run_reference(op);

            EXPECT_EQ(values(op.output), (Numbers{11, 22, 38, 13, 24, 48}));
            EXPECT_TRUE(t.has_clean_gaps());
        }
    }
}

TEST(Linear, AddsNothingWithoutBias) {
    Operands t;
    const Linear op{.input = t.numbers(1, 2, {1, 2}),
                    .weight = small_weight(t, WeightAxes::in_out),
                    .output = t.unwritten(1, 3)};

    run_reference(op);

    EXPECT_EQ(values(op.output), (Numbers{1, 2, 8}));
}

TEST(LinearBackwardInput, MultipliesByTheTransposedWeight) {
    for (const WeightAxes axes : {WeightAxes::in_out, WeightAxes::out_in}) {
        Operands t(device::DType::f32);
        const LinearBackwardInput op{.grad_output = t.numbers(2, 3, {1, 0, 1, 0, 2, 0}),
                                     .weight = small_weight(t, axes),
                                     .grad_input = t.unwritten(2, 2),
                                     .axes = axes};

        run_reference(op);

        EXPECT_EQ(values(op.grad_input), (Numbers{3, 3, 0, 2}));
    }
}

TEST(LinearBackwardInput, AccumulatesIntoGradInputOnRequest) {
    Operands t;
    const LinearBackwardInput op{.grad_output = t.numbers(1, 3, {1, 0, 1}),
                                 .weight = small_weight(t, WeightAxes::in_out),
                                 .grad_input = t.numbers(1, 2, {100, 200}),
                                 .accumulate = true};

    run_reference(op);

    EXPECT_EQ(values(op.grad_input), (Numbers{103, 203}));
}

TEST(LinearBackwardWeight, AccumulatesWeightAndBiasGradients) {
    for (const WeightAxes axes : {WeightAxes::in_out, WeightAxes::out_in}) {
        const bool is_in_out = axes == WeightAxes::in_out;
        Operands t(device::DType::f32);
        const LinearBackwardWeight op{
            .input = t.numbers(2, 2, {1, 2, 3, 4}),
            .grad_output = t.numbers(2, 3, {1, 0, 1, 0, 2, 0}),
            .grad_weight = t.numbers(is_in_out ? 2 : 3, is_in_out ? 3 : 2, Numbers(6, 100)),
            .grad_bias = t.numbers(1, 3, {10, 20, 30}),
            .axes = axes};

        run_reference(op);

        const Numbers expected =
            is_in_out ? Numbers{101, 106, 101, 102, 108, 102} : Numbers{101, 102, 106, 108, 101, 102};
        EXPECT_EQ(values(op.grad_weight), expected);
        EXPECT_EQ(values(op.grad_bias), (Numbers{11, 22, 31}));
    }
}

TEST(LinearBackward, MatchesFiniteDifferences) {
    for (const WeightAxes axes : {WeightAxes::in_out, WeightAxes::out_in}) {
        const bool is_in_out = axes == WeightAxes::in_out;
        Operands t;
        const device::Tensor input = t.random(3, 4);
        const device::Tensor weight = t.random(is_in_out ? 4 : 5, is_in_out ? 5 : 4);
        const device::Tensor bias = t.random(1, 5);
        const device::Tensor grad_output = t.random(3, 5);
        const Linear forward{input, weight, bias, t.unwritten(3, 5), axes};
        const LinearBackwardInput back{grad_output, weight, t.unwritten(3, 4), axes};
        const LinearBackwardWeight back_weight{input, grad_output, t.zeros(weight.rows, weight.columns),
                                               t.zeros(1, 5), axes};
        const auto loss = [&] {
            run_reference(forward);
            return dot(forward.output, grad_output);
        };

        run_reference(back);
        run_reference(back_weight);

        expect_gradient("input", back.grad_input, input, loss);
        expect_gradient("weight", back_weight.grad_weight, weight, loss);
        expect_gradient("bias", back_weight.grad_bias, bias, loss);
    }
}

TEST(ColumnSums, AreAddedToTheExistingValues) {
    for (device::Stream stream :
         {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{2}}}) {
        Operands t(device::DType::f32, 2);
        const ColumnSums op{.input = t.numbers(3, 2, {1, 2, 3, 4, 5, 6}), .sums = t.numbers(1, 2, {100, 200})};

        launch(stream, op);

        EXPECT_EQ(values(op.sums), (Numbers{109, 212}));
        EXPECT_EQ(op.cost().bytes, 4 * (6 + 2 * 2));
    }
}

// A matmul with a fused activation equals the matmul followed by the activation.
TEST(Linear, AppliesAFusedActivationLikeASeparateOne) {
    for (device::Stream stream :
         {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{2}}}) {
        for (const ActivationKind kind :
             {ActivationKind::gelu_tanh, ActivationKind::gelu, ActivationKind::tanh}) {
            Operands t(device::DType::f64, 2);
            const Linear apart{t.random(3, 4), t.random(4, 5), t.random(1, 5), t.unwritten(3, 5)};
            const Activation separate{.input = apart.output, .output = t.unwritten(3, 5), .kind = kind};
            Linear joined = apart;
            joined.output = t.unwritten(3, 5);
            joined.activated_output = t.unwritten(3, 5);
            joined.activation = kind;

            launch(stream, apart);
            launch(stream, separate);
            launch(stream, joined);

            EXPECT_EQ(values(joined.output), values(apart.output));
            EXPECT_EQ(values(joined.activated_output), values(separate.output));
            EXPECT_TRUE(t.has_clean_gaps());
        }
    }
}

TEST(LinearBackwardInput, AppliesAFusedActivationBackwardLikeASeparateOne) {
    for (device::Stream stream :
         {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{2}}}) {
        for (const ActivationKind kind :
             {ActivationKind::gelu_tanh, ActivationKind::gelu, ActivationKind::tanh}) {
            Operands t(device::DType::f64, 2);
            const LinearBackwardInput apart{t.random(3, 5), t.random(4, 5), t.unwritten(3, 4)};
            const ActivationBackward separate{.input = t.random(3, 4),
                                              .grad_output = apart.grad_input,
                                              .grad_input = t.unwritten(3, 4),
                                              .kind = kind};
            LinearBackwardInput joined = apart;
            joined.grad_input = t.unwritten(3, 4);
            joined.activation_input = separate.input;
            joined.activation = kind;

            launch(stream, apart);
            launch(stream, separate);
            launch(stream, joined);

            EXPECT_EQ(values(joined.grad_input), values(separate.grad_input));
            EXPECT_TRUE(t.has_clean_gaps());
        }
    }
}

TEST(Linear, RejectsMismatchedActivations) {
    Operands t;
    Linear forward{t.random(3, 4), t.random(4, 5), {}, t.unwritten(3, 5)};
    LinearBackwardInput back{t.random(3, 5), t.random(4, 5), t.zeros(3, 4)};
    forward.activated_output = t.unwritten(3, 4);
    back.activation_input = t.random(3, 5);
    EXPECT_EQ(refusal(forward), "linear: activated is f64 3 x 4, not f64 3 x 5");
    EXPECT_EQ(refusal(back), "linear_backward_input: activated_from is f64 3 x 5, not f64 3 x 4");
    back.activation_input = t.random(3, 4);
    back.accumulate = true;
    EXPECT_EQ(
        refusal(back),
        "linear_backward_input: grad_input cannot be accumulated if the backward pass of an activation is "
        "fused");
}

TEST(Linear, RejectsMismatchedShapes) {
    Operands t;
    Operands other(device::DType::f32);
    const Linear good{t.random(3, 4), t.random(4, 5), t.random(1, 5), t.unwritten(3, 5)};
    Linear wrong_weight = good;
    wrong_weight.weight = t.random(5, 4);
    Linear wrong_bias = good;
    wrong_bias.bias = t.random(1, 4);
    Linear wrong_type = good;
    wrong_type.output = other.unwritten(3, 5);
    Linear wrong_rows = good;
    wrong_rows.output = t.unwritten(2, 5);

    EXPECT_NO_THROW(good.check());
    EXPECT_EQ(refusal(wrong_weight), "linear: weight is f64 5 x 4, not f64 4 x 5");
    EXPECT_EQ(refusal(wrong_bias), "linear: bias is f64 1 x 4, not f64 1 x 5");
    EXPECT_EQ(refusal(wrong_type), "linear: output is f32 3 x 5, not f64 3 x 5");
    EXPECT_EQ(refusal(wrong_rows), "linear: input is f64 3 x 4, not f64 2 x 4");
}

TEST(Linear, RejectsIntegerInput) {
    Operands t;
    const Linear op{t.indices(device::DType::i32, 4, 9), t.random(4, 5), {}, t.unwritten(1, 5)};

    EXPECT_EQ(refusal(op), "linear: is defined for f32, f64 and bf16, not for i32");
}

TEST(Linear, RejectsOverlappingRows) {
    Operands t;
    Linear op{t.random(3, 4), t.random(4, 5), {}, t.unwritten(3, 5)};
    op.input.stride = 3;

    EXPECT_EQ(refusal(op), "linear: input has rows of 4 columns only 3 elements apart");
}

TEST(LinearBackwardInput, RejectsWeightsWithTransposedAxes) {
    Operands t;
    const LinearBackwardInput op{t.random(3, 5), t.random(4, 5), t.unwritten(3, 4), WeightAxes::out_in};

    EXPECT_EQ(refusal(op), "linear_backward_input: weight is f64 4 x 5, not f64 5 x 4");
}

TEST(LinearBackwardWeight, RejectsBiasGradientsOfTheWrongSize) {
    Operands t;
    const LinearBackwardWeight op{t.random(3, 4), t.random(3, 5), t.zeros(4, 5), t.zeros(1, 4)};

    EXPECT_EQ(refusal(op), "linear_backward_weight: grad_bias is f64 1 x 4, not f64 1 x 5");
}

TEST(Linear, CountsMatmulFlopsAndBytesOfEachOperandOnce) {
    Operands t(device::DType::f32);
    const Linear forward{t.random(3, 4), t.random(4, 5), t.random(1, 5), t.unwritten(3, 5)};
    const LinearBackwardInput back{t.random(3, 5), t.random(4, 5), t.zeros(3, 4), WeightAxes::in_out, true};
    const LinearBackwardWeight back_weight{
        t.random(3, 4), t.random(3, 5), t.zeros(5, 4), {}, WeightAxes::out_in};

    EXPECT_EQ(forward.cost().flops, 2 * 3 * 4 * 5);
    EXPECT_EQ(forward.cost().bytes, 4 * (12 + 20 + 5 + 15));
    EXPECT_EQ(forward.cost().matmul, (std::array<std::size_t, 3>{3, 5, 4}));
    EXPECT_EQ(back.cost().bytes, 4 * (15 + 20 + 2 * 12));
    EXPECT_EQ(back.cost().matmul, (std::array<std::size_t, 3>{3, 4, 5}));
    EXPECT_EQ(back_weight.cost().bytes, 4 * (12 + 15 + 2 * 20));
    EXPECT_EQ(back_weight.cost().matmul, (std::array<std::size_t, 3>{5, 4, 3}));
}

}  // namespace
}  // namespace trireme::kernels
