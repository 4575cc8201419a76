#include "trireme/kernels/update.hpp"

#include "oracle.hpp"

namespace trireme::kernels {
namespace {

using Numbers = std::vector<double>;

// With beta1 = 1/2 and beta2 = 3/4 the first step is exact: g = 1/2 4 = 2, moment1 = 1 and moment2 = 1, which
// the correction makes 2 and 4. The change is rate 2 / (2 + 2).
TEST(AdamWUpdate, MatchesAFirstStepComputedByHand) {
    for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
        Operands t(dtype);
        const AdamWUpdate op{.parameter = t.numbers(1, 2, {8, -8}),
                             .gradient = t.numbers(1, 2, {4, -4}),
                             .moment1 = t.zeros(1, 2),
                             .moment2 = t.zeros(1, 2),
                             .gradient_scale = 0.5,
                             .rate = 0.25,
                             .beta1 = 0.5,
                             .beta2 = 0.75,
                             .epsilon = 2,
                             .weight_decay = 0.5};

        run_reference(op);

        EXPECT_EQ(values(op.moment1), (Numbers{1, -1}));
        EXPECT_EQ(values(op.moment2), (Numbers{1, 1}));
        EXPECT_EQ(values(op.parameter), (Numbers{7 - 0.125, -7 + 0.125}));
    }
}

// The second step has a gradient of 0: moment1 = 1/2 and moment2 = 3/4, with corrections 3/4 and 7/16.
TEST(AdamWUpdate, CorrectsBiasByTheStepNumber) {
    Operands t;
    const AdamWUpdate op{.parameter = t.numbers(1, 1, {1}),
                         .gradient = t.numbers(1, 1, {0}),
                         .moment1 = t.numbers(1, 1, {1}),
                         .moment2 = t.numbers(1, 1, {1}),
                         .rate = 1,
                         .beta1 = 0.5,
                         .beta2 = 0.75,
                         .epsilon = 0,
                         .step = 2};

    run_reference(op);

    EXPECT_EQ(values(op.moment1), (Numbers{0.5}));
    EXPECT_EQ(values(op.moment2), (Numbers{0.75}));
    EXPECT_DOUBLE_EQ(get(op.parameter, 0, 0), 1 - (2.0 / 3.0) / std::sqrt(12.0 / 7.0));
}

TEST(SgdUpdate, FollowsTheGradientWithoutMomentum) {
    for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
        Operands t(dtype);
        const SgdUpdate op{.parameter = t.numbers(2, 2, {1, 2, 3, 4}),
                           .gradient = t.numbers(2, 2, {8, 0, -8, 16}),
                           .gradient_scale = 0.5,
                           .rate = 0.25};

        run_reference(op);

        EXPECT_EQ(values(op.parameter), (Numbers{0, 2, 4, 2}));
    }
}

TEST(SgdUpdate, AccumulatesVelocityWithMomentum) {
    for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
        Operands t(dtype);
        const SgdUpdate op{.parameter = t.numbers(1, 2, {4, -4}),
                           .gradient = t.numbers(1, 2, {1, 2}),
                           .velocity = t.numbers(1, 2, {2, 4}),
                           .rate = 0.25,
                           .momentum = 0.5,
                           .weight_decay = 0.5};

        run_reference(op);

        EXPECT_EQ(values(op.velocity), (Numbers{1 + 3, 2 + 0}));
        EXPECT_EQ(values(op.parameter), (Numbers{3, -4.5}));
    }
}

// The same numbers in alternating columns. Columns without decay keep all of 8 and -8 instead of 7/8.
TEST(AdamWUpdate, DecaysOnlyTheSelectedColumns) {
    for (device::Stream stream :
         {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{}}}) {
        for (const std::size_t gap : {0, 3}) {
            Operands t(device::DType::f32, gap);
            const AdamWUpdate op{.parameter = t.numbers(2, 3, {8, 8, 8, -8, -8, -8}),
                                 .gradient = t.numbers(2, 3, {4, 4, 4, -4, -4, -4}),
                                 .moment1 = t.zeros(2, 3),
                                 .moment2 = t.zeros(2, 3),
                                 .gradient_scale = 0.5,
                                 .rate = 0.25,
                                 .beta1 = 0.5,
                                 .beta2 = 0.75,
                                 .epsilon = 2,
                                 .weight_decay = 0.5,
                                 .decay_mask = t.numbers_of(device::DType::i32, 1, 3, {1, 0, 1})};

            launch(stream, op);

            EXPECT_EQ(values(op.parameter), (Numbers{6.875, 7.875, 6.875, -6.875, -7.875, -6.875}));
            EXPECT_EQ(values(op.moment1), (Numbers{1, 1, 1, -1, -1, -1}));
        }
    }
}

TEST(SgdUpdate, DecaysOnlyTheSelectedColumns) {
    for (device::Stream stream :
         {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{}}}) {
        Operands t;
        const device::Tensor decaying = t.numbers_of(device::DType::i32, 1, 2, {0, 1});
        const SgdUpdate plain{.parameter = t.numbers(2, 2, {4, 4, 8, 8}),
                              .gradient = t.numbers(2, 2, {1, 1, 1, 1}),
                              .rate = 0.25,
                              .weight_decay = 0.5,
                              .decay_mask = decaying};
        SgdUpdate with_momentum = plain;
        with_momentum.parameter = t.numbers(2, 2, {4, 4, 8, 8});
        with_momentum.velocity = t.numbers(2, 2, {2, 2, 2, 2});
        with_momentum.momentum = 0.5;

        launch(stream, plain);
        launch(stream, with_momentum);

        EXPECT_EQ(values(plain.parameter), (Numbers{3.75, 3.25, 7.75, 6.75}));
        EXPECT_EQ(values(with_momentum.velocity), (Numbers{2, 4, 2, 6}));
        EXPECT_EQ(values(with_momentum.parameter), (Numbers{3.5, 3, 7.5, 6.5}));
    }
}

// The nearest 16-bit number to 2049 is 2048, and to 2057 it is 2064. 2056 is in the middle and rounds to even.
TEST(Update, RoundsTheNewParameterToBf16) {
    for (device::Stream stream :
         {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{}}}) {
        for (const std::size_t gap : {0, 3}) {
            for (const bool has_velocity : {false, true}) {
                Operands t(device::DType::f32, gap);
                const SgdUpdate op{.parameter = t.numbers(2, 2, {2050, -2058, 2057, 1}),
                                   .gradient = t.numbers(2, 2, {1, -1, 1, 0.5}),
                                   .velocity = has_velocity ? t.zeros(2, 2) : device::Tensor{},
                                   .rate = 1,
                                   .rounded_parameter = t.unwritten_of(device::DType::bf16, 2, 2)};

                launch(stream, op);

                EXPECT_EQ(values(op.parameter), (Numbers{2049, -2057, 2056, 0.5}));
                EXPECT_EQ(values(op.rounded_parameter), (Numbers{2048, -2064, 2048, 0.5}));
                EXPECT_TRUE(t.has_clean_gaps());
            }
        }
    }
}

TEST(Update, RoundsAdamWResultsWithAndWithoutDecayColumns) {
    for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
        for (device::Stream stream :
             {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{2}}}) {
            for (const bool has_decay_columns : {false, true}) {
                Operands t(dtype, 1);
                AdamWUpdate op{.parameter = t.random(3, 37),
                               .gradient = t.random(3, 37),
                               .moment1 = t.zeros(3, 37),
                               .moment2 = t.zeros(3, 37),
                               .rate = 0.125,
                               .weight_decay = 0.5,
                               .rounded_parameter = t.unwritten_of(device::DType::bf16, 3, 37)};
                if (has_decay_columns) op.decay_mask = t.indices(device::DType::i32, 37, 2);

                launch(stream, op);

                Numbers expected = values(op.parameter);
                for (double& number : expected) number = device::Bf16(static_cast<float>(number));
                EXPECT_EQ(values(op.rounded_parameter), expected);
                EXPECT_TRUE(t.has_clean_gaps());
            }
        }
    }
}

TEST(Update, RejectsMismatchedRoundedTensors) {
    Operands t(device::DType::f32);
    SgdUpdate sgd{.parameter = t.zeros(2, 3), .gradient = t.zeros(2, 3), .rounded_parameter = t.zeros(2, 3)};
    AdamWUpdate adamw{.parameter = t.zeros(2, 3),
                      .gradient = t.zeros(2, 3),
                      .moment1 = t.zeros(2, 3),
                      .moment2 = t.zeros(2, 3),
                      .rounded_parameter = t.unwritten_of(device::DType::bf16, 3, 2)};

    EXPECT_EQ(refusal(sgd), "sgd: rounded is f32 2 x 3, not bf16 2 x 3");
    EXPECT_EQ(refusal(adamw), "adamw: rounded is bf16 3 x 2, not bf16 2 x 3");
}

TEST(Update, RejectsMismatchedDecayColumns) {
    Operands t;
    AdamWUpdate op{.parameter = t.zeros(2, 3),
                   .gradient = t.zeros(2, 3),
                   .moment1 = t.zeros(2, 3),
                   .moment2 = t.zeros(2, 3),
                   .decay_mask = t.numbers_of(device::DType::i32, 1, 2, {1, 1})};
    EXPECT_EQ(refusal(op), "adamw: decaying is i32 1 x 2, not i32 1 x 3");
    op.decay_mask = t.numbers_of(device::DType::i32, 1, 3, {1, 1, 1});
    op.moment2 = t.zeros(3, 2);
    EXPECT_EQ(refusal(op), "adamw: moment2 is f64 3 x 2, not f64 2 x 3");
}

TEST(SumOfSquares, AddsInDouble) {
    Operands t(device::DType::f32);
    // In float, adding 1 to 2^24 has no effect.
    const SumOfSquares op{t.numbers(3, 1, {4096, 1, 1}), t.unwritten_of(device::DType::f64, 1, 1)};

    run_reference(op);

    EXPECT_EQ(values(op.result), (Numbers{16777218}));
}

TEST(Update, RejectsMismatchedShapes) {
    Operands t;
    Operands spread(device::DType::f64, 1);
    const AdamWUpdate short_moment{.parameter = t.zeros(2, 3),
                                   .gradient = t.zeros(2, 3),
                                   .moment1 = t.zeros(1, 6),
                                   .moment2 = t.zeros(1, 5)};
    const AdamWUpdate step_zero{.parameter = t.zeros(1, 1),
                                .gradient = t.zeros(1, 1),
                                .moment1 = t.zeros(1, 1),
                                .moment2 = t.zeros(1, 1),
                                .step = 0};
    const SgdUpdate no_velocity{.parameter = t.zeros(2, 3), .gradient = t.zeros(2, 3), .momentum = 0.5};
    const SgdUpdate gaps{.parameter = t.zeros(3, 2), .gradient = spread.zeros(2, 3)};
    const SumOfSquares single{t.zeros(2, 3), t.unwritten_of(device::DType::f32, 1, 1)};

    EXPECT_EQ(refusal(short_moment), "adamw: moment2 has 5 elements of f64, not 6 of f64");
    EXPECT_EQ(refusal(step_zero), "adamw: steps count from 1, got 0");
    EXPECT_EQ(refusal(no_velocity), "sgd: velocity has 0 elements of f32, not 6 of f64");
    EXPECT_EQ(refusal(gaps), "sgd: gradient is f64 2 x 3, not f64 3 x 2");
    EXPECT_EQ(refusal(single), "sum_of_squares: result is f32 1 x 1, not f64 1 x 1");
}

// Rows with gaps are updated like contiguous rows, and the gaps do not change.
template <class Run>
void expect_same_with_gaps(Run&& run_op) {
    Operands dense;
    Operands gapped(device::DType::f64, 2);
    const auto adamw = [](Operands& t) {
        return AdamWUpdate{.parameter = t.random(3, 5),
                           .gradient = t.random(3, 5),
                           .moment1 = t.random(3, 5),
                           .moment2 = t.zeros(3, 5),
                           .rate = 0.1,
                           .weight_decay = 0.01};
    };
    const auto sgd = [](Operands& t) {
        return SgdUpdate{.parameter = t.random(3, 5),
                         .gradient = t.random(3, 5),
                         .velocity = t.random(3, 5),
                         .rate = 0.1,
                         .momentum = 0.9};
    };
    const AdamWUpdate a = adamw(dense);
    const AdamWUpdate a_gapped = adamw(gapped);
    const SgdUpdate s = sgd(dense);
    const SgdUpdate s_gapped = sgd(gapped);
    const SumOfSquares squares{s.gradient, dense.unwritten_of(device::DType::f64, 1, 1)};
    const SumOfSquares squares_gapped{s_gapped.gradient, dense.unwritten_of(device::DType::f64, 1, 1)};

    for (const AdamWUpdate* op : {&a, &a_gapped}) run_op(*op);
    for (const SgdUpdate* op : {&s, &s_gapped}) run_op(*op);
    for (const SumOfSquares* op : {&squares, &squares_gapped}) run_op(*op);

    EXPECT_EQ(values(a.parameter), values(a_gapped.parameter));
    EXPECT_EQ(values(a.moment2), values(a_gapped.moment2));
    EXPECT_EQ(values(s.velocity), values(s_gapped.velocity));
    EXPECT_NEAR(values(squares.result)[0], values(squares_gapped.result)[0], 1e-12);
}

TEST(Update, AcceptsRowsWithGaps) {
    expect_same_with_gaps([](const auto& op) { run_reference(op); });
    device::CpuStream cpu{.threads = 2};
    expect_same_with_gaps([&](const auto& op) {
        op.check();
        run(cpu, op);
    });
}

TEST(Update, CountsBytesReadAndWritten) {
    Operands t(device::DType::f32);
    AdamWUpdate adamw{.parameter = t.zeros(2, 3),
                      .gradient = t.zeros(2, 3),
                      .moment1 = t.zeros(2, 3),
                      .moment2 = t.zeros(2, 3)};
    SgdUpdate sgd{.parameter = t.zeros(2, 3), .gradient = t.zeros(2, 3), .velocity = t.zeros(2, 3)};
    const SumOfSquares squares{t.zeros(2, 3), t.unwritten_of(device::DType::f64, 1, 1)};

    EXPECT_EQ(adamw.cost().bytes, 7 * 24);
    EXPECT_EQ(sgd.cost().bytes, 5 * 24);
    EXPECT_EQ(squares.cost().bytes, 24 + 8);
    adamw.rounded_parameter = sgd.rounded_parameter = t.unwritten_of(device::DType::bf16, 2, 3);
    EXPECT_EQ(adamw.cost().bytes, 7 * 24 + 12);
    EXPECT_EQ(sgd.cost().bytes, 5 * 24 + 12);
}

}  // namespace
}  // namespace trireme::kernels
