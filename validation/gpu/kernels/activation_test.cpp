#include "trireme/kernels/activation.hpp"

#include "gpu_comparison.hpp"

namespace trireme {
namespace {

constexpr std::array kinds{kernels::ActivationKind::gelu_tanh, kernels::ActivationKind::gelu,
                           kernels::ActivationKind::tanh};

TEST(GpuBackend, MatchesReferenceForActivation) {
    for (const kernels::ActivationKind kind : kinds) {
        for_each_gpu_shape([&](std::size_t rows, std::size_t columns) {
            expect_same_on_gpu([&](GpuOperands& t) {
                return kernels::Activation{t.random(rows, columns), t.unwritten(rows, columns), kind};
            });
        });
    }
}

TEST(GpuBackend, MatchesReferenceForActivationBackward) {
    for (const kernels::ActivationKind kind : kinds) {
        for_each_gpu_shape([&](std::size_t rows, std::size_t columns) {
            expect_same_on_gpu([&](GpuOperands& t) {
                return kernels::ActivationBackward{t.random(rows, columns), t.random(rows, columns),
                                                   t.unwritten(rows, columns), kind};
            });
        });
    }
}

TEST(GpuBackend, ComputesActivationBackwardInPlace) {
    expect_same_on_gpu([](GpuOperands& t) {
        const device::Tensor both = t.random(5, 64);
        return kernels::ActivationBackward{t.random(5, 64), both, both};
    });
}

// Values and slopes of a function at some inputs, in double.
struct Curve {
    std::vector<double> values;
    std::vector<double> slopes;
};

Curve curve_of(GpuOperands&& t, kernels::ActivationKind kind, const std::vector<double>& inputs) {
    const std::size_t count = inputs.size();
    const device::Tensor input = t.numbers(1, count, inputs);
    const device::Tensor ones = t.numbers(1, count, std::vector<double>(count, 1));
    const device::Tensor output = t.unwritten(1, count);
    const device::Tensor slope = t.unwritten(1, count);
    t.run(kernels::Activation{input, output, kind});
    t.run(kernels::ActivationBackward{input, ones, slope, kind});
    const std::vector<device::Tensor> results = t.results();
    return {kernels::values(results[2]), kernels::values(results[3])};
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

// Compares numbers with a relative `tolerance`; numbers below `least` are compared relative to `least`.
void expect_digits(const std::vector<double>& got, const std::vector<double>& expected, double tolerance,
                   double least) {
    for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_NEAR(got[i], expected[i], tolerance * std::max(std::abs(expected[i]), least)) << "number " << i;
}

// Values keep their digits down to the smallest normal numbers, including the tails. A slope is a sum whose
// terms cancel where it crosses zero.
TEST(GpuBackend, ComputesActivationsToFullPrecision) {
    const std::vector<double> inputs = inputs_of_every_magnitude();
    for (const kernels::ActivationKind kind : {kernels::ActivationKind::gelu, kernels::ActivationKind::tanh}) {
        for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
            SCOPED_TRACE(cat("kind ", static_cast<int>(kind), ", ", to_string(dtype)));
            const double tolerance =
                dtype == device::DType::f32 ? 1e-6 : 3e-15;  // some units in the last place
            const double smallest = dtype == device::DType::f32 ? 1e-35 / tolerance : 1e-300 / tolerance;
            device::Stream stream = kernels::make_gpu_stream();
            const Curve expected = curve_of(GpuOperands::for_reference(dtype), kind, inputs);

            const Curve got = curve_of(GpuOperands::of_gpu(stream, dtype, 0), kind, inputs);

            expect_digits(got.values, expected.values, tolerance, smallest);
            expect_digits(got.slopes, expected.slopes, tolerance, 1);
        }
    }
}

// Very large numbers behave like infinity, and NaN stays NaN.
TEST(GpuBackend, SaturatesActivationsAndPropagatesNaN) {
    for (const device::DType dtype : {device::DType::f32, device::DType::f64, device::DType::bf16}) {
        for (const kernels::ActivationKind kind : kinds) {
            device::Stream stream = kernels::make_gpu_stream();
            const Curve curve = curve_of(GpuOperands::of_gpu(stream, dtype, 0), kind,
                                         {0x1p100, -0x1p100, kernels::infinity, kernels::nan, 0});
            const bool is_tanh = kind == kernels::ActivationKind::tanh;
            EXPECT_EQ(curve.values[0], is_tanh ? 1 : 0x1p100);
            EXPECT_EQ(curve.values[1], is_tanh ? -1 : 0);
            EXPECT_EQ(curve.values[2], is_tanh ? 1 : kernels::infinity);
            EXPECT_EQ(curve.values[4], 0);
            EXPECT_EQ(curve.slopes[0], is_tanh ? 0 : 1);
            EXPECT_EQ(curve.slopes[1], 0);
            EXPECT_EQ(curve.slopes[4], is_tanh ? 1 : 0.5);
            EXPECT_TRUE(std::isnan(curve.values[3]));
            EXPECT_TRUE(std::isnan(curve.slopes[3]));
        }
    }
}

kernels::SiluGateBackward gate_backward_of(GpuOperands& t, std::size_t rows, std::size_t columns) {
    return {t.random(rows, columns), t.random(rows, columns), t.random(rows, columns),
            t.unwritten(rows, columns), t.unwritten(rows, columns)};
}

TEST(GpuBackend, MatchesReferenceForSiluGate) {
    for_each_gpu_shape([](std::size_t rows, std::size_t columns) {
        expect_same_on_gpu([&](GpuOperands& t) {
            return kernels::SiluGate{t.random(rows, columns), t.random(rows, columns),
                                     t.unwritten(rows, columns)};
        });
        expect_same_on_gpu([&](GpuOperands& t) { return gate_backward_of(t, rows, columns); });
    });
}

// Gate and up projection lie side by side in each row, as a fused projection makes them, so `up` may begin at
// any address.
TEST(GpuBackend, MatchesReferenceForSiluGateBackwardOnColumnRanges) {
    for (const std::size_t columns : {7, 12, 64}) {
        SCOPED_TRACE(columns);
        expect_same_on_gpu([&](GpuOperands& t) {
            const device::Tensor both = t.random(5, 2 * columns);
            const device::Tensor grad_both = t.unwritten(5, 2 * columns);
            return kernels::SiluGateBackward{both.column_range(0, columns), both.column_range(columns, columns),
                                             t.random(5, columns), grad_both.column_range(0, columns),
                                             grad_both.column_range(columns, columns)};
        });
    }
}

TEST(GpuBackend, MatchesReferenceForSiluGateAtAllMagnitudes) {
    const std::vector<double> gates = inputs_of_every_magnitude();
    const std::size_t count = gates.size();
    expect_same_on_gpu([&](GpuOperands& t) {
        return kernels::SiluGate{t.numbers(1, count, gates), t.random(1, count), t.unwritten(1, count)};
    });
    expect_same_on_gpu([&](GpuOperands& t) {
        return kernels::SiluGateBackward{t.numbers(1, count, gates), t.random(1, count), t.random(1, count),
                                         t.unwritten(1, count), t.unwritten(1, count)};
    });
}

TEST(GpuBackend, SaturatesSiluGatesAndPropagatesNaN) {
    for (const device::DType dtype : {device::DType::f32, device::DType::f64, device::DType::bf16}) {
        device::Stream stream = kernels::make_gpu_stream();
        GpuOperands t = GpuOperands::of_gpu(stream, dtype, 0);
        const device::Tensor gate = t.numbers(1, 4, {0x1p100, -0x1p100, kernels::infinity, kernels::nan});
        const device::Tensor ones = t.numbers(1, 4, {1, 1, 1, 1});
        const device::Tensor output = t.unwritten(1, 4);
        const device::Tensor grad_gate = t.unwritten(1, 4);

        launch(stream, kernels::SiluGate{gate, ones, output});
        launch(stream, kernels::SiluGateBackward{gate, ones, ones, grad_gate, t.unwritten(1, 4)});

        const std::vector<double> gated = kernels::values(t.results()[2]);
        const std::vector<double> slopes = kernels::values(t.results()[3]);
        EXPECT_EQ(std::vector(gated.begin(), gated.begin() + 3),
                  (std::vector{0x1p100, 0.0, kernels::infinity}));
        EXPECT_EQ(std::vector(slopes.begin(), slopes.begin() + 2), (std::vector{1.0, 0.0}));
        EXPECT_TRUE(std::isnan(gated[3]));
        EXPECT_TRUE(std::isnan(slopes[3]));
    }
}

TEST(GpuBackend, AcceptsActivationsWithoutRowsOrColumns) {
    for (const auto& [rows, columns] : {std::pair{0, 8}, std::pair{3, 0}}) {
        const auto r = static_cast<std::size_t>(rows);
        const auto c = static_cast<std::size_t>(columns);
        expect_same_on_gpu([&](GpuOperands& t) {
            return kernels::Activation{t.random(r, c), t.unwritten(r, c)};
        });
        expect_same_on_gpu([&](GpuOperands& t) { return gate_backward_of(t, r, c); });
    }
}

}  // namespace
}  // namespace trireme
