#include "trireme/kernels/activation.hpp"

#include "comparison.hpp"

namespace trireme::kernels {
namespace {

constexpr std::array kinds{ActivationKind::gelu_tanh, ActivationKind::gelu, ActivationKind::tanh};

TEST(Activation, SaturatesToInputOrZeroForGeluTanh) {
    for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
        Operands t(dtype, 1);
        const Activation op{t.numbers(1, 3, {0, 32, -32}), t.unwritten(1, 3)};

        run_reference(op);

        EXPECT_EQ(values(op.output), (std::vector<double>{0, 32, 0}));
        EXPECT_TRUE(t.has_clean_gaps());
    }
}

// 1/2 (1 + tanh(sqrt(2 / pi) 1.044715)) = 0.841191990608...
TEST(Activation, MatchesGpt2AtPlusAndMinusOne) {
    Operands t;
    const Activation op{t.numbers(1, 2, {1, -1}), t.unwritten(1, 2)};

    run_reference(op);

    EXPECT_NEAR(get(op.output, 0, 0), 0.841191990608, 1e-12);
    EXPECT_NEAR(get(op.output, 0, 1), 0.841191990608 - 1, 1e-12);
}

TEST(Activation, SaturatesToInputOrZeroForGelu) {
    Operands t;
    const Activation op{t.numbers(1, 3, {0, 64, -64}), t.unwritten(1, 3), ActivationKind::gelu};

    run_reference(op);

    EXPECT_EQ(values(op.output), (std::vector<double>{0, 64, 0}));
}

// (1 + erf(1 / sqrt(2))) / 2 = 0.841344746069..., tanh(1) = 0.761594155956...
TEST(Activation, MatchesGeluAndTanhAtPlusAndMinusOne) {
    Operands t;
    const device::Tensor input = t.numbers(1, 2, {1, -1});
    const Activation gelu{input, t.unwritten(1, 2), ActivationKind::gelu};
    const Activation tanh{input, t.unwritten(1, 2), ActivationKind::tanh};

    run_reference(gelu);
    run_reference(tanh);

    EXPECT_NEAR(get(gelu.output, 0, 0), 0.841344746068543, 1e-14);
    EXPECT_NEAR(get(gelu.output, 0, 1), 0.841344746068543 - 1, 1e-14);
    EXPECT_NEAR(get(tanh.output, 0, 0), 0.761594155955765, 1e-14);
    EXPECT_NEAR(get(tanh.output, 0, 1), -0.761594155955765, 1e-14);
}

TEST(ActivationBackward, MatchesFiniteDifferences) {
    for (const ActivationKind kind : kinds) {
        Operands t;
        const device::Tensor input = t.random(5, 7);
        const device::Tensor grad_output = t.random(5, 7);
        const Activation forward{input, t.unwritten(5, 7), kind};
        const ActivationBackward back{input, grad_output, t.unwritten(5, 7), kind};
        const auto loss = [&] {
            run_reference(forward);
            return dot(forward.output, grad_output);
        };

        run_reference(back);

        expect_gradient("input", back.grad_input, input, loss);
    }
}

TEST(ActivationBackward, AllowsGradInputToAliasGradOutput) {
    Operands t;
    const device::Tensor input = t.random(5, 7);
    const device::Tensor grad_output = t.random(5, 7);
    const ActivationBackward apart{input, grad_output, t.unwritten(5, 7)};
    run_reference(apart);

    run_reference(ActivationBackward{input, grad_output, grad_output});

    EXPECT_EQ(values(grad_output), values(apart.grad_input));
}

TEST(Activation, RejectsMismatchedShapes) {
    Operands t;
    const Activation forward{t.random(3, 4), t.unwritten(4, 3)};
    const ActivationBackward back{t.random(3, 4), t.random(3, 5), t.unwritten(3, 4)};

    EXPECT_EQ(refusal(forward), "activation: output is f64 4 x 3, not f64 3 x 4");
    EXPECT_EQ(refusal(back), "activation_backward: grad_output is f64 3 x 5, not f64 3 x 4");
}

TEST(Activation, CountsBytesOfEachOperandOnce) {
    Operands t(device::DType::f32);

    EXPECT_EQ((Activation{t.random(3, 4), t.unwritten(3, 4)}.cost().bytes), 4 * 24);
    EXPECT_EQ((ActivationBackward{t.random(3, 4), t.random(3, 4), t.unwritten(3, 4)}.cost().bytes), 4 * 36);
}

// Multiples of 1/8 far into both saturated ranges, and small powers of two times 1.25.
std::vector<double> inputs_of_every_magnitude() {
    std::vector<double> inputs;
    for (int i = -800; i <= 800; ++i) inputs.push_back(i / 8.0);
    for (int e = -40; e <= 3; ++e) {
        inputs.push_back(std::ldexp(1.25, e));
        inputs.push_back(std::ldexp(-1.25, e));
    }
    return inputs;
}

// Compares elements with a relative `tolerance`; elements below `least` are compared relative to `least`.
void expect_digits(const device::ConstTensor& got, const device::ConstTensor& expected, double tolerance,
                   double least) {
    for (std::size_t c = 0; c < got.columns; ++c) {
        const double want = get(expected, 0, c);
        ASSERT_NEAR(get(got, 0, c), want, tolerance * std::max(std::abs(want), least)) << "column " << c;
    }
}

// The values and slopes of a function at the same inputs.
struct Curve {
    Curve(Operands& t, ActivationKind kind, const std::vector<double>& inputs) {
        const std::size_t count = inputs.size();
        const device::Tensor input = t.numbers(1, count, inputs);
        const device::Tensor ones = t.numbers(1, count, std::vector<double>(count, 1));
        value = {input, t.unwritten(1, count), kind};
        slope = {input, ones, t.unwritten(1, count), kind};
    }
    void draw(device::Stream stream) const {
        launch(stream, value);
        launch(stream, slope);
    }

    Activation value;
    ActivationBackward slope;
};

// Values keep their digits down to the smallest normal numbers, including the tails. A slope is a sum whose
// terms cancel where it crosses zero.
TEST(CpuBackend, ComputesActivationsToFullPrecision) {
    const std::vector<double> inputs = inputs_of_every_magnitude();
    for (const ActivationKind kind : {ActivationKind::gelu, ActivationKind::tanh}) {
        for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
            SCOPED_TRACE(cat("kind ", static_cast<int>(kind), ", ", to_string(dtype)));
            const double tolerance =
                dtype == device::DType::f32 ? 6e-7 : 3e-15;  // some units in the last place
            const double smallest = dtype == device::DType::f32 ? 1e-35 / tolerance : 1e-300 / tolerance;
            Operands exact;
            Operands t(dtype);
            const Curve expected(exact, kind, inputs);
            const Curve got(t, kind, inputs);

            expected.draw(device::Stream{device::ReferenceStream{}});
            got.draw(device::Stream{device::CpuStream{}});

            expect_digits(got.value.output, expected.value.output, tolerance, smallest);
            expect_digits(got.slope.grad_input, expected.slope.grad_input, tolerance, 1);
        }
    }
}

TEST(CpuBackend, MatchesReferenceForGeluAndTanh) {
    for (const ActivationKind kind : {ActivationKind::gelu, ActivationKind::tanh}) {
        for_each_shape([&](std::size_t rows, std::size_t columns) {
            expect_same_on_cpu([&](Operands& t) {
                return Activation{t.random(rows, columns), t.unwritten(rows, columns), kind};
            });
            expect_same_on_cpu([&](Operands& t) {
                const device::Tensor both = t.random(rows, columns);
                return ActivationBackward{t.random(rows, columns), both, both, kind};
            });
        });
    }
}

TEST(CpuBackend, ActivatesRowsIdenticallyWithAnyThreadCount) {
    for (const ActivationKind kind : kinds) {
        expect_same_bits_on_any_threads([&](Operands& t) {
            return Activation{t.random(301, 517), t.unwritten(301, 517), kind};
        });
        expect_same_bits_on_any_threads([&](Operands& t) {
            return ActivationBackward{t.random(301, 517), t.random(301, 517), t.unwritten(301, 517), kind};
        });
    }
}

// Very large numbers behave like infinity, and NaN stays NaN.
TEST(Activation, SaturatesForHugeInputsAndPropagatesNaN) {
    for (const device::Stream& stream :
         {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{}}}) {
        for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
            Operands t(dtype);
            const Curve gelu(t, ActivationKind::gelu, {0x1p100, -0x1p100, infinity, nan});
            const Curve tanh(t, ActivationKind::tanh, {0x1p100, -infinity, infinity, nan});

            gelu.draw(stream);
            tanh.draw(stream);

            EXPECT_EQ(get(gelu.value.output, 0, 0), 0x1p100);
            EXPECT_EQ(get(gelu.value.output, 0, 1), 0);
            EXPECT_EQ(get(gelu.value.output, 0, 2), infinity);
            EXPECT_EQ(get(gelu.slope.grad_input, 0, 0), 1);
            EXPECT_EQ(get(gelu.slope.grad_input, 0, 1), 0);
            EXPECT_EQ(get(tanh.value.output, 0, 0), 1);
            EXPECT_EQ(get(tanh.value.output, 0, 1), -1);
            EXPECT_EQ(get(tanh.value.output, 0, 2), 1);
            EXPECT_EQ(get(tanh.slope.grad_input, 0, 2), 0);
            for (const Curve& curve : {gelu, tanh}) {
                EXPECT_TRUE(std::isnan(get(curve.value.output, 0, 3)));
                EXPECT_TRUE(std::isnan(get(curve.slope.grad_input, 0, 3)));
            }
        }
    }
}

}  // namespace
}  // namespace trireme::kernels
