#include "trireme/kernels/rotary.hpp"

#include <numbers>

#include "comparison.hpp"

namespace trireme::kernels {
namespace {

using Numbers = std::vector<double>;

// Frequencies of GPT-NeoX and Llama: base^(-c / half).
Numbers frequencies_of(std::size_t half, double base = 10000) {
    Numbers frequencies;
    for (std::size_t c = 0; c < half; ++c) {
        frequencies.push_back(std::pow(base, -static_cast<double>(c) / static_cast<double>(half)));
    }
    return frequencies;
}

TEST(Rotary, RotatesPairsAcrossTheHalvesOfEachHead) {
    const Numbers frequencies{std::numbers::pi / 4, 0};
    Operands t(device::DType::f64, 3);
    const Rotary op{.values = t.numbers(2, 8, {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8}),
                    .positions = t.numbers_of(device::DType::i32, 1, 2, {2, 0}),
                    .frequencies = frequencies};

    run_reference(op);

    // The rotation is a quarter turn at position 2, and zero at position 0 or if the frequency is 0.
    const Numbers expected{-3, 2, 1, 4, -7, 6, 5, 8, 1, 2, 3, 4, 5, 6, 7, 8};
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(values(op.values)[i], expected[i], 1e-14);
    EXPECT_TRUE(t.has_clean_gaps());
}

TEST(Rotary, MakesDotProductsDependOnlyOnRelativePosition) {
    const Numbers frequencies = frequencies_of(8);
    const auto matmul = [&](double query, double key) {
        Operands t;
        const device::Tensor values = t.random(2, 16);
        run_reference(Rotary{values, t.numbers_of(device::DType::i32, 1, 2, {query, key}), frequencies});
        return dot(values.row_range(0, 1), values.row_range(1, 1));
    };

    EXPECT_NEAR(matmul(7, 3), matmul(104, 100), 1e-12);
    EXPECT_GT(std::abs(matmul(7, 3) - matmul(8, 3)), 1e-3);
}

TEST(Rotary, IsInvertedByItsBackwardPass) {
    const Numbers frequencies = frequencies_of(5);
    Operands t;
    Rotary op{t.random(7, 30), t.indices(device::DType::i32, 7, 1000), frequencies};
    const Numbers before = values(op.values);

    run_reference(op);
    op.is_backward = true;
    run_reference(op);

    for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(values(op.values)[i], before[i], 1e-14);
}

TEST(RotaryBackward, MatchesFiniteDifferences) {
    const Numbers frequencies = frequencies_of(3);
    Operands t;
    const device::Tensor input = t.random(4, 12);
    const device::Tensor grad_output = t.random(4, 12);
    const device::Tensor gradient = t.numbers(4, 12, values(grad_output));
    const device::Tensor positions = t.indices(device::DType::i32, 4, 100);
    const auto loss = [&] {
        const device::Tensor output = t.numbers(4, 12, values(input));
        run_reference(Rotary{output, positions, frequencies});
        return dot(output, grad_output);
    };

    run_reference(Rotary{gradient, positions, frequencies, true});

    expect_gradient("input", gradient, input, loss);
}

TEST(Rotary, RejectsMismatchedShapesAndInvalidFrequencies) {
    const Numbers four{1, 0.5, 0.25, 0.125};
    const Numbers fast{1, 1.5};
    Operands t;
    const device::Tensor values = t.random(3, 12);
    const device::Tensor positions = t.indices(device::DType::i32, 3, 9);

    EXPECT_EQ(refusal(Rotary{values, t.indices(device::DType::i32, 2, 9), fast}),
              "rotary: positions is i32 1 x 2, not i32 1 x 3");
    EXPECT_EQ(refusal(Rotary{values, positions, {}}),
              "rotary: frequencies is empty; it needs one value per pair of channels of a head");
    EXPECT_EQ(refusal(Rotary{values, positions, four}),
              "rotary: 12 columns of values cannot be cut into heads of 8 channels, two per frequency");
    EXPECT_EQ(refusal(Rotary{values, positions, fast}),
              "rotary: frequencies[1] is 1.5, not within 0 .. 1 radians per position");
}

TEST(Rotary, CountsBytesOfItsValuesTwice) {
    const Numbers frequencies{1, 0.5};
    Operands t(device::DType::f32);

    EXPECT_EQ((Rotary{t.random(3, 8), t.indices(device::DType::i32, 3, 9), frequencies}.cost().bytes),
              4 * (2 * 24 + 3) + 8 * 2);
}

TEST(CpuBackend, MatchesReferenceForRotary) {
    for_each_shape([](std::size_t rows, std::size_t half) {
        const Numbers frequencies = frequencies_of(half);
        for (const std::size_t heads : {1, 3}) {
            for (const bool is_backward : {false, true}) {
                expect_same_on_cpu([&](Operands& t) {
                    return Rotary{t.random(rows, 2 * heads * half), t.indices(device::DType::i32, rows, 4096),
                                  frequencies, is_backward};
                });
            }
        }
    });
}

// Positions are multiplied with frequencies in double: the reference rounds the same angle.
TEST(CpuBackend, MatchesReferenceForRotaryAtLargePositions) {
    const Numbers frequencies = frequencies_of(33, 50);
    const std::vector<double> positions{0,       1,       -1,      3,         1 << 16,    (1 << 20) - 1,
                                        1 << 20, 1000003, 7654321, 355 << 12, 2147483647, -2147483648.0};
    const std::size_t rows = positions.size();

    expect_same_on_cpu([&](Operands& t) {
        return Rotary{t.random(rows, 66), t.numbers_of(device::DType::i32, 1, rows, positions), frequencies};
    });
}

// Rotating pairs of 1 and 0 gives their cosines and sines.
TEST(CpuBackend, ComputesSinesAndCosinesToFullPrecision) {
    const Numbers frequencies{1, 0.7853981633974483, 0.1, 0.0123, 1e-4, 3e-6, 0};
    const std::size_t half = frequencies.size();
    Operands t;
    const std::size_t rows = 20000;
    const device::Tensor turned = t.zeros(rows, 2 * half);
    for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t c = 0; c < half; ++c) set(turned, r, c, 1);
    }
    const device::Tensor positions = t.indices(device::DType::i32, rows, 1 << 20);
    device::Stream stream{device::CpuStream{}};

    launch(stream, Rotary{turned, positions, frequencies});

    for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t c = 0; c < half; ++c) {
            const double angle = get(positions, 0, r) * frequencies[c];
            ASSERT_NEAR(get(turned, r, c), std::cos(angle), 2.5e-16) << "cosine of " << angle;
            ASSERT_NEAR(get(turned, r, c + half), std::sin(angle), 2.5e-16) << "sine of " << angle;
        }
    }
}

TEST(CpuBackend, RotatesRowsIdenticallyWithAnyThreadCount) {
    const Numbers frequencies = frequencies_of(37);
    expect_same_bits_on_any_threads([&](Operands& t) {
        return Rotary{t.random(301, 7 * 74), t.indices(device::DType::i32, 301, 1 << 20), frequencies};
    });
}

}  // namespace
}  // namespace trireme::kernels
