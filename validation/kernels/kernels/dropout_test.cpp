#include "trireme/kernels/dropout.hpp"

#include "oracle.hpp"

namespace trireme::kernels {
namespace {

using Numbers = std::vector<double>;

const RandomKey key = RandomKey{7}.then(1).then("residual");

// Makes dropout for positions 0, 1, ... of sample 5.
Dropout dropout_at_positions(Operands& t, std::size_t rows, double rate) {
    Numbers positions(rows);
    for (std::size_t r = 0; r < rows; ++r) positions[r] = static_cast<double>(r);
    return {.rate = rate,
            .key = key,
            .samples = t.numbers_of(device::DType::i64, 1, rows, Numbers(rows, 5)),
            .positions = t.numbers_of(device::DType::i32, 1, rows, positions)};
}

TEST(ResidualAdd, AddsInputToResidualIfDropoutIsOff) {
    Operands t(device::DType::f32, 3);
    const ResidualAdd op{.residual = t.numbers(2, 2, {1, 2, 3, 4}),
                         .input = t.numbers(2, 2, {10, 20, 30, 40}),
                         .output = t.unwritten(2, 2)};

    run_reference(op);

    EXPECT_EQ(values(op.output), (Numbers{11, 22, 33, 44}));
    EXPECT_TRUE(t.has_clean_gaps());
}

TEST(ResidualAdd, DropsWhereTheRandomWordIsBelowTheRate) {
    Operands t;
    const Dropout dropout{.rate = 0.5,
                          .key = key,
                          .samples = t.numbers_of(device::DType::i64, 1, 2, {5, 9}),
                          .positions = t.numbers_of(device::DType::i32, 1, 2, {30, 2}),
                          .first_channel = 6};
    const ResidualAdd op{t.numbers(2, 3, Numbers(6, 100)), t.numbers(2, 3, Numbers(6, 1)), t.unwritten(2, 3),
                         dropout};

    run_reference(op);

    // Channels 6, 7 and 8 are words 2 and 3 of block 1, and word 0 of block 2.
    const auto added = [](std::uint32_t word) { return word < 0x80000000U ? 100.0 : 102.0; };
    Numbers expected;
    for (const auto& [sample, position] : {std::pair{5U, 30U}, std::pair{9U, 2U}}) {
        const RandomBlock first = random_block(key.then(std::uint64_t{sample}), {1, position, 0, 0});
        const RandomBlock second = random_block(key.then(std::uint64_t{sample}), {2, position, 0, 0});
        expected.insert(expected.end(), {added(first[2]), added(first[3]), added(second[0])});
    }
    EXPECT_EQ(values(op.output), expected);
}

TEST(ResidualAdd, AppliesOnlyDropoutWithoutResidual) {
    Operands t;
    const Dropout dropout = dropout_at_positions(t, 40, 0.25);
    const device::Tensor input = t.random(40, 10);
    const ResidualAdd without_residual{{}, input, t.unwritten(40, 10), dropout};
    const ResidualAdd to_zeros{t.zeros(40, 10), input, t.unwritten(40, 10), dropout};

    run_reference(without_residual);
    run_reference(to_zeros);

    EXPECT_EQ(values(without_residual.output), values(to_zeros.output));
}

TEST(ResidualAdd, AllowsOutputToAliasResidualOrInput) {
    Operands t;
    const Dropout dropout = dropout_at_positions(t, 9, 0.25);
    const device::Tensor residual = t.random(9, 6);
    const device::Tensor input = t.random(9, 6);
    const ResidualAdd apart{residual, input, t.unwritten(9, 6), dropout};
    run_reference(apart);
    const device::Tensor first = t.numbers(9, 6, values(residual));
    const device::Tensor second = t.numbers(9, 6, values(input));

    run_reference(ResidualAdd{first, input, first, dropout});
    run_reference(ResidualAdd{residual, second, second, dropout});

    EXPECT_EQ(values(first), values(apart.output));
    EXPECT_EQ(values(second), values(apart.output));
}

TEST(Dropout, KeepsTheExpectedFractionAndScalesIt) {
    constexpr double rate = 0.25;
    Operands t;
    const ResidualAdd op{
        {}, t.numbers(200, 50, Numbers(10000, 3)), t.unwritten(200, 50), dropout_at_positions(t, 200, rate)};

    run_reference(op);

    double kept = 0;
    for (const double value : values(op.output)) {
        ASSERT_TRUE(value == 0 || value == 4) << value;
        kept += value == 4;
    }
    // The tolerance is five standard deviations of a binomial distribution with 10000 draws.
    EXPECT_NEAR(kept, 7500, 5 * std::sqrt(10000 * rate * (1 - rate)));
}

TEST(Dropout, DoesNotDependOnTheOrderOfTheRows) {
    Operands t;
    const device::Tensor ones = t.numbers(3, 8, Numbers(24, 1));
    Dropout forwards{.rate = 0.5,
                     .key = key,
                     .samples = t.numbers_of(device::DType::i64, 1, 3, {4, 4, 6}),
                     .positions = t.numbers_of(device::DType::i32, 1, 3, {0, 1, 0})};
    Dropout backwards = forwards;
    backwards.samples = t.numbers_of(device::DType::i64, 1, 3, {6, 4, 4});
    backwards.positions = t.numbers_of(device::DType::i32, 1, 3, {0, 1, 0});
    const ResidualAdd first{{}, ones, t.unwritten(3, 8), forwards};
    const ResidualAdd second{{}, ones, t.unwritten(3, 8), backwards};

    run_reference(first);
    run_reference(second);

    for (std::size_t r = 0; r < 3; ++r) {
        EXPECT_EQ(values(first.output.row_range(r, 1)), values(second.output.row_range(2 - r, 1)));
    }
    EXPECT_NE(values(first.output.row_range(0, 1)), values(first.output.row_range(1, 1)));
    EXPECT_NE(values(first.output.row_range(0, 1)), values(first.output.row_range(2, 1)));
}

TEST(Dropout, DropsTheSameElementsInColumnSlicesAsInTheFullTensor) {
    for (const std::size_t cut : {4, 6, 9}) {
        Operands t;
        const device::Tensor input = t.random(20, 13);
        const Dropout dropout = dropout_at_positions(t, 20, 0.5);
        Dropout right = dropout;
        right.first_channel = cut;
        const device::Tensor whole = t.unwritten(20, 13);
        const device::Tensor slices = t.unwritten(20, 13);

        run_reference(ResidualAdd{{}, input, whole, dropout});
        run_reference(ResidualAdd{{}, input.column_range(0, cut), slices.column_range(0, cut), dropout});
        run_reference(
            ResidualAdd{{}, input.column_range(cut, 13 - cut), slices.column_range(cut, 13 - cut), right});

        EXPECT_EQ(values(slices), values(whole));
    }
}

TEST(DropoutBackward, DropsWhatTheForwardPassDropped) {
    Operands t;
    const device::Tensor input = t.random(6, 9);
    const device::Tensor grad_output = t.random(6, 9);
    const Dropout dropout = dropout_at_positions(t, 6, 0.375);
    const ResidualAdd forward{t.random(6, 9), input, t.unwritten(6, 9), dropout};
    const DropoutBackward back{grad_output, t.unwritten(6, 9), dropout};
    const auto loss = [&] {
        run_reference(forward);
        return dot(forward.output, grad_output);
    };

    run_reference(back);

    expect_gradient("input", back.grad_input, input, loss);
    run_reference(DropoutBackward{grad_output, grad_output, dropout});
    EXPECT_EQ(values(grad_output), values(back.grad_input));
}

TEST(Dropout, RejectsMismatchedShapesAndInvalidRates) {
    Operands t;
    const ResidualAdd good{t.random(3, 4), t.random(3, 4), t.unwritten(3, 4), dropout_at_positions(t, 3, 0.5)};
    ResidualAdd wrong_residual = good;
    wrong_residual.residual = t.random(3, 5);
    ResidualAdd everything_dropped = good;
    everything_dropped.dropout.rate = 1;
    ResidualAdd wrong_samples = good;
    wrong_samples.dropout.samples = t.indices(device::DType::i32, 3, 9);
    const DropoutBackward wrong_positions{t.random(3, 4), t.unwritten(3, 4), dropout_at_positions(t, 2, 0.5)};

    EXPECT_NO_THROW(good.check());
    EXPECT_EQ(refusal(wrong_residual), "residual_add: residual is f64 3 x 5, not f64 3 x 4");
    EXPECT_EQ(refusal(everything_dropped), "residual_add: a dropout rate of 1 is not in [0, 1)");
    EXPECT_EQ(refusal(wrong_samples), "residual_add: samples is i32 1 x 3, not i64 1 x 3");
    EXPECT_EQ(refusal(wrong_positions), "dropout_backward: samples is i64 1 x 2, not i64 1 x 3");
}

TEST(Dropout, CountsBytesOfEachOperandOnce) {
    Operands t(device::DType::f32);
    const ResidualAdd with{t.random(3, 4), t.random(3, 4), t.unwritten(3, 4), dropout_at_positions(t, 3, 0.5)};
    const ResidualAdd without{{}, t.random(3, 4), t.unwritten(3, 4), dropout_at_positions(t, 3, 0)};
    const DropoutBackward back{t.random(3, 4), t.unwritten(3, 4), dropout_at_positions(t, 3, 0.5)};

    EXPECT_EQ(with.cost().bytes, 4 * 36 + 3 * (8 + 4));
    EXPECT_EQ(without.cost().bytes, 4 * 24);
    EXPECT_EQ(back.cost().bytes, 4 * 24 + 3 * (8 + 4));
}

}  // namespace
}  // namespace trireme::kernels
