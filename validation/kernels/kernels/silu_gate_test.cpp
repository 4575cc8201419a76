#include "comparison.hpp"
#include "trireme/kernels/activation.hpp"

namespace trireme::kernels {
namespace {

// silu(1) = 1 / (1 + 1 / e) = 0.731058578630...
TEST(SiluGate, MultipliesTheSiluOfTheGateByTheUpProjection) {
    Operands t(device::DType::f64, 3);
    const SiluGate op{t.numbers(2, 2, {0, 1, -1, 64}), t.numbers(2, 2, {5, 2, 4, 3}), t.unwritten(2, 2)};

    run_reference(op);

    EXPECT_EQ(get(op.output, 0, 0), 0);
    EXPECT_NEAR(get(op.output, 0, 1), 2 * 0.731058578630005, 1e-14);
    EXPECT_NEAR(get(op.output, 1, 0), 4 * (0.731058578630005 - 1), 1e-14);
    EXPECT_EQ(get(op.output, 1, 1), 3 * 64);
    EXPECT_TRUE(t.has_clean_gaps());
}

TEST(SiluGateBackward, MatchesFiniteDifferences) {
    Operands t;
    const device::Tensor gate = t.random(5, 7);
    const device::Tensor up = t.random(5, 7);
    const device::Tensor grad_output = t.random(5, 7);
    const SiluGate forward{gate, up, t.unwritten(5, 7)};
    const SiluGateBackward back{gate, up, grad_output, t.unwritten(5, 7), t.unwritten(5, 7)};
    const auto loss = [&] {
        run_reference(forward);
        return dot(forward.output, grad_output);
    };

    run_reference(back);

    expect_gradient("gate", back.grad_gate, gate, loss);
    expect_gradient("up", back.grad_up, up, loss);
}

TEST(SiluGate, RejectsMismatchedShapes) {
    Operands t;
    const SiluGate forward{t.random(3, 4), t.random(3, 5), t.unwritten(3, 4)};
    const SiluGateBackward back{t.random(3, 4), t.random(3, 4), t.random(3, 4), t.unwritten(3, 4),
                                t.unwritten(2, 4)};

    EXPECT_EQ(refusal(forward), "silu_gate: up is f64 3 x 5, not f64 3 x 4");
    EXPECT_EQ(refusal(back), "silu_gate_backward: grad_up is f64 2 x 4, not f64 3 x 4");
}

TEST(SiluGate, CountsBytesOfEachOperandOnce) {
    Operands t(device::DType::f32);
    const device::Tensor one = t.random(3, 4);

    EXPECT_EQ((SiluGate{one, one, one}.cost().bytes), 4 * 36);
    EXPECT_EQ((SiluGateBackward{one, one, one, one, one}.cost().bytes), 4 * 60);
}

SiluGateBackward backward_of(Operands& t, std::size_t rows, std::size_t columns) {
    return {t.random(rows, columns), t.random(rows, columns), t.random(rows, columns),
            t.unwritten(rows, columns), t.unwritten(rows, columns)};
}

TEST(CpuBackend, MatchesReferenceForSiluGate) {
    for_each_shape([](std::size_t rows, std::size_t columns) {
        expect_same_on_cpu([&](Operands& t) {
            return SiluGate{t.random(rows, columns), t.random(rows, columns), t.unwritten(rows, columns)};
        });
        expect_same_on_cpu([&](Operands& t) { return backward_of(t, rows, columns); });
    });
}

// Gate and up projection lie side by side in each row, as a fused projection makes them.
TEST(CpuBackend, MatchesReferenceForSiluGateOfColumnRanges) {
    for_each_shape([](std::size_t rows, std::size_t columns) {
        expect_same_on_cpu([&](Operands& t) {
            const device::Tensor both = t.random(rows, 2 * columns);
            return SiluGate{both.column_range(0, columns), both.column_range(columns, columns),
                            t.unwritten(rows, columns)};
        });
        expect_same_on_cpu([&](Operands& t) {
            const device::Tensor both = t.random(rows, 2 * columns);
            const device::Tensor grad_both = t.unwritten(rows, 2 * columns);
            return SiluGateBackward{both.column_range(0, columns), both.column_range(columns, columns),
                                    t.random(rows, columns), grad_both.column_range(0, columns),
                                    grad_both.column_range(columns, columns)};
        });
    });
}

TEST(CpuBackend, MatchesReferenceForSiluGateOfAnyMagnitude) {
    std::vector<double> gates;
    for (int i = -800; i <= 800; ++i) gates.push_back(i / 8.0);
    const std::size_t count = gates.size();

    expect_same_on_cpu([&](Operands& t) {
        return SiluGate{t.numbers(1, count, gates), t.random(1, count), t.unwritten(1, count)};
    });
    expect_same_on_cpu([&](Operands& t) {
        return SiluGateBackward{t.numbers(1, count, gates), t.random(1, count), t.random(1, count),
                                t.unwritten(1, count), t.unwritten(1, count)};
    });
}

TEST(CpuBackend, GatesRowsIdenticallyWithAnyThreadCount) {
    expect_same_bits_on_any_threads([](Operands& t) {
        return SiluGate{t.random(301, 517), t.random(301, 517), t.unwritten(301, 517)};
    });
    expect_same_bits_on_any_threads([](Operands& t) { return backward_of(t, 301, 517); });
}

// Very large numbers behave like infinity, and NaN stays NaN.
TEST(SiluGate, SaturatesForHugeInputsAndPropagatesNaN) {
    for (device::Stream stream :
         {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{}}}) {
        for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
            Operands t(dtype);
            const device::Tensor gate = t.numbers(1, 4, {1e30, -1e30, infinity, nan});
            const device::Tensor ones = t.numbers(1, 4, {1, 1, 1, 1});
            const SiluGate forward{gate, ones, t.unwritten(1, 4)};
            const SiluGateBackward back{gate, ones, ones, t.unwritten(1, 4), t.unwritten(1, 4)};

            launch(stream, forward);
            launch(stream, back);

            EXPECT_EQ(get(forward.output, 0, 0), get(gate, 0, 0));
            EXPECT_EQ(get(forward.output, 0, 1), 0);
            EXPECT_EQ(get(forward.output, 0, 2), infinity);
            EXPECT_EQ(get(back.grad_gate, 0, 0), 1);
            EXPECT_EQ(get(back.grad_gate, 0, 1), 0);
            EXPECT_TRUE(std::isnan(get(forward.output, 0, 3)));
            EXPECT_TRUE(std::isnan(get(back.grad_gate, 0, 3)));
            EXPECT_TRUE(std::isnan(get(back.grad_up, 0, 3)));
        }
    }
}

}  // namespace
}  // namespace trireme::kernels
