#include "trireme/kernels/activation.hpp"

#include "gpu_comparison.hpp"

namespace trireme {
namespace {

constexpr std::array kinds{ActivationKind::gelu_tanh, ActivationKind::gelu, ActivationKind::tanh};

TEST(GpuBackend, AgreesOnActivation) {
    for (const ActivationKind kind : kinds) {
        for_each_gpu_shape([&](std::size_t rows, std::size_t columns) {
            expect_same_on_gpu([&](GpuOperands& t) {
                return Activation{t.random(rows, columns), t.unwritten(rows, columns), kind};
            });
        });
    }
}

TEST(GpuBackend, AgreesOnActivationBackward) {
    for (const ActivationKind kind : kinds) {
        for_each_gpu_shape([&](std::size_t rows, std::size_t columns) {
            expect_same_on_gpu([&](GpuOperands& t) {
                return ActivationBackward{t.random(rows, columns), t.random(rows, columns),
                                          t.unwritten(rows, columns), kind};
            });
        });
    }
}

TEST(GpuBackend, MayReplaceTheGradientOfAnActivation) {
    expect_same_on_gpu([](GpuOperands& t) {
        const Tensor both = t.random(5, 64);
        return ActivationBackward{t.random(5, 64), both, both};
    });
}

// What a function and its slope are at some inputs, in double.
struct Curve {
    std::vector<double> values;
    std::vector<double> slopes;
};

Curve curve_of(GpuOperands&& t, ActivationKind kind, const std::vector<double>& inputs) {
    const std::size_t count = inputs.size();
    const Tensor input = t.numbers(1, count, inputs);
    const Tensor ones = t.numbers(1, count, std::vector<double>(count, 1));
    const Tensor output = t.unwritten(1, count);
    const Tensor slope = t.unwritten(1, count);
    t.run(Activation{input, output, kind});
    t.run(ActivationBackward{input, ones, slope, kind});
    const std::vector<Tensor> results = t.results();
    return {values(results[2]), values(results[3])};
}

// Eighths from far below to far above where the functions go flat, and small powers of two.
std::vector<double> inputs_of_every_magnitude() {
    std::vector<double> inputs;
    for (int i = -800; i <= 800; ++i) inputs.push_back(i / 8.0);
    for (int e = -40; e <= 3; ++e) {
        inputs.push_back(std::ldexp(1.25, e));
        inputs.push_back(std::ldexp(-1.25, e));
    }
    return inputs;
}

// Every number to `tolerance` of its own size, or of `least` where it is smaller.
void expect_digits(const std::vector<double>& got, const std::vector<double>& expected, double tolerance,
                   double least) {
    for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_NEAR(got[i], expected[i], tolerance * std::max(std::abs(expected[i]), least)) << "number " << i;
}

// A value keeps its digits down to the smallest normal numbers, tails and all. A slope is a sum whose parts
// cancel where it crosses zero.
TEST(GpuBackend, KeepsTheDigitsOfActivations) {
    const std::vector<double> inputs = inputs_of_every_magnitude();
    for (const ActivationKind kind : {ActivationKind::gelu, ActivationKind::tanh}) {
        for (const DType dtype : {DType::f32, DType::f64}) {
            SCOPED_TRACE(cat("kind ", static_cast<int>(kind), ", ", name_of(dtype)));
            const double tolerance = dtype == DType::f32 ? 1e-6 : 3e-15;  // some units in the last place
            const double smallest = dtype == DType::f32 ? 1e-35 / tolerance : 1e-300 / tolerance;
            Stream stream = gpu_stream();
            const Curve expected = curve_of(GpuOperands::of_reference(dtype), kind, inputs);

            const Curve got = curve_of(GpuOperands::of_gpu(stream, dtype, 0), kind, inputs);

            expect_digits(got.values, expected.values, tolerance, smallest);
            expect_digits(got.slopes, expected.slopes, tolerance, 1);
        }
    }
}

// Numbers as large as they come go the way of infinity, and what is no number stays none.
TEST(GpuBackend, ActivatesTheLargestNumbersFlatlyAndNoNumberToNone) {
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
        for (const ActivationKind kind : kinds) {
            Stream stream = gpu_stream();
            const Curve curve =
                curve_of(GpuOperands::of_gpu(stream, dtype, 0), kind, {0x1p100, -0x1p100, infinity, nan, 0});
            const bool is_tanh = kind == ActivationKind::tanh;
            EXPECT_EQ(curve.values[0], is_tanh ? 1 : 0x1p100);
            EXPECT_EQ(curve.values[1], is_tanh ? -1 : 0);
            EXPECT_EQ(curve.values[2], is_tanh ? 1 : infinity);
            EXPECT_EQ(curve.values[4], 0);
            EXPECT_EQ(curve.slopes[0], is_tanh ? 0 : 1);
            EXPECT_EQ(curve.slopes[1], 0);
            EXPECT_EQ(curve.slopes[4], is_tanh ? 1 : 0.5);
            EXPECT_TRUE(std::isnan(curve.values[3]));
            EXPECT_TRUE(std::isnan(curve.slopes[3]));
        }
    }
}

SiluGateBackward gate_backward_of(GpuOperands& t, std::size_t rows, std::size_t columns) {
    return {t.random(rows, columns), t.random(rows, columns), t.random(rows, columns),
            t.unwritten(rows, columns), t.unwritten(rows, columns)};
}

TEST(GpuBackend, AgreesOnSiluGate) {
    for_each_gpu_shape([](std::size_t rows, std::size_t columns) {
        expect_same_on_gpu([&](GpuOperands& t) {
            return SiluGate{t.random(rows, columns), t.random(rows, columns), t.unwritten(rows, columns)};
        });
        expect_same_on_gpu([&](GpuOperands& t) { return gate_backward_of(t, rows, columns); });
    });
}

// As a fused projection makes them: gate and up side by side in each row, so that `up` may begin anywhere.
TEST(GpuBackend, AgreesOnSiluGateOfColumnRanges) {
    for (const std::size_t columns : {7, 12, 64}) {
        SCOPED_TRACE(columns);
        expect_same_on_gpu([&](GpuOperands& t) {
            const Tensor both = t.random(5, 2 * columns);
            const Tensor grad_both = t.unwritten(5, 2 * columns);
            return SiluGateBackward{both.column_range(0, columns), both.column_range(columns, columns),
                                    t.random(5, columns), grad_both.column_range(0, columns),
                                    grad_both.column_range(columns, columns)};
        });
    }
}

TEST(GpuBackend, AgreesOnSiluGateOfEveryMagnitude) {
    const std::vector<double> gates = inputs_of_every_magnitude();
    const std::size_t count = gates.size();
    expect_same_on_gpu([&](GpuOperands& t) {
        return SiluGate{t.numbers(1, count, gates), t.random(1, count), t.unwritten(1, count)};
    });
    expect_same_on_gpu([&](GpuOperands& t) {
        return SiluGateBackward{t.numbers(1, count, gates), t.random(1, count), t.random(1, count),
                                t.unwritten(1, count), t.unwritten(1, count)};
    });
}

TEST(GpuBackend, GatesTheLargestNumbersFlatlyAndNoNumberToNone) {
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
        Stream stream = gpu_stream();
        GpuOperands t = GpuOperands::of_gpu(stream, dtype, 0);
        const Tensor gate = t.numbers(1, 4, {0x1p100, -0x1p100, infinity, nan});
        const Tensor ones = t.numbers(1, 4, {1, 1, 1, 1});
        const Tensor output = t.unwritten(1, 4);
        const Tensor grad_gate = t.unwritten(1, 4);

        launch(stream, SiluGate{gate, ones, output});
        launch(stream, SiluGateBackward{gate, ones, ones, grad_gate, t.unwritten(1, 4)});

        const std::vector<double> gated = values(t.results()[2]);
        const std::vector<double> slopes = values(t.results()[3]);
        EXPECT_EQ(std::vector(gated.begin(), gated.begin() + 3), (std::vector{0x1p100, 0.0, infinity}));
        EXPECT_EQ(std::vector(slopes.begin(), slopes.begin() + 2), (std::vector{1.0, 0.0}));
        EXPECT_TRUE(std::isnan(gated[3]));
        EXPECT_TRUE(std::isnan(slopes[3]));
    }
}

TEST(GpuBackend, ActivatesNoRowsAndNoColumnsToNone) {
    for (const auto& [rows, columns] : {std::pair{0, 8}, std::pair{3, 0}}) {
        const auto r = static_cast<std::size_t>(rows);
        const auto c = static_cast<std::size_t>(columns);
        expect_same_on_gpu([&](GpuOperands& t) { return Activation{t.random(r, c), t.unwritten(r, c)}; });
        expect_same_on_gpu([&](GpuOperands& t) { return gate_backward_of(t, r, c); });
    }
}

}  // namespace
}  // namespace trireme
