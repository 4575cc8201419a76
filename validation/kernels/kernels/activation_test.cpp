#include "trireme/kernels/activation.hpp"

#include "oracle.hpp"

namespace trireme {
namespace {

TEST(Activation, OfZeroIsZeroAndFarOutEitherTheInputOrZero) {
    for (const DType dtype : {DType::f32, DType::f64}) {
        Operands t(dtype, 1);
        const Activation op{t.numbers(1, 3, {0, 32, -32}), t.unwritten(1, 3)};

        run_reference(op);

        EXPECT_EQ(values(op.output), (std::vector<double>{0, 32, 0}));
        EXPECT_TRUE(t.has_clean_gaps());
    }
}

// 1/2 (1 + tanh(sqrt(2 / pi) 1.044715)) = 0.841191990608...
TEST(Activation, OfOneIsGpt2sValue) {
    Operands t;
    const Activation op{t.numbers(1, 2, {1, -1}), t.unwritten(1, 2)};

    run_reference(op);

    EXPECT_NEAR(get(op.output, 0, 0), 0.841191990608, 1e-12);
    EXPECT_NEAR(get(op.output, 0, 1), 0.841191990608 - 1, 1e-12);
}

TEST(Activation, HasTheGradientOfItsBackwardPass) {
    Operands t;
    const Tensor input = t.random(5, 7);
    const Tensor grad_output = t.random(5, 7);
    const Activation forward{input, t.unwritten(5, 7)};
    const ActivationBackward back{input, grad_output, t.unwritten(5, 7)};
    const auto loss = [&] {
        run_reference(forward);
        return dot(forward.output, grad_output);
    };

    run_reference(back);

    expect_gradient("input", back.grad_input, input, loss);
}

TEST(ActivationBackward, MayReplaceGradOutput) {
    Operands t;
    const Tensor input = t.random(5, 7);
    const Tensor grad_output = t.random(5, 7);
    const ActivationBackward apart{input, grad_output, t.unwritten(5, 7)};
    run_reference(apart);

    run_reference(ActivationBackward{input, grad_output, grad_output});

    EXPECT_EQ(values(grad_output), values(apart.grad_input));
}

TEST(Activation, RefusesShapesThatDoNotFit) {
    Operands t;
    const Activation forward{t.random(3, 4), t.unwritten(4, 3)};
    const ActivationBackward back{t.random(3, 4), t.random(3, 5), t.unwritten(3, 4)};

    EXPECT_EQ(refusal(forward), "activation: output is f64 4 x 3, not f64 3 x 4");
    EXPECT_EQ(refusal(back), "activation_backward: grad_output is f64 3 x 5, not f64 3 x 4");
}

TEST(Activation, CostsEveryOperandOnce) {
    Operands t(DType::f32);

    EXPECT_EQ((Activation{t.random(3, 4), t.unwritten(3, 4)}.cost().bytes), 4 * 24);
    EXPECT_EQ((ActivationBackward{t.random(3, 4), t.random(3, 4), t.unwritten(3, 4)}.cost().bytes), 4 * 36);
}

}  // namespace
}  // namespace trireme
