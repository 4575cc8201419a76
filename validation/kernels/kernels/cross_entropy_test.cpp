#include "trireme/kernels/cross_entropy.hpp"

#include "comparison.hpp"

namespace trireme::kernels {
namespace {

using Numbers = std::vector<double>;

device::Tensor targets_of(Operands& t, const Numbers& content) {
    return t.numbers_of(device::DType::i32, 1, content.size(), content);
}

// Returns choices with values that no kernel computes.
device::Tensor unchosen(Operands& t, std::size_t rows) {
    return t.numbers_of(device::DType::i32, 1, rows, Numbers(rows, -777));
}

TEST(CrossEntropy, IsLogOfVocabularySizeForEqualLogits) {
    for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
        Operands t(dtype, 3);
        const CrossEntropy op{.logits = t.numbers(2, 4, Numbers(8, 5)),
                              .targets = targets_of(t, {1, 3}),
                              .losses = t.unwritten_of(device::DType::f64, 1, 2),
                              .gradient_scale = 8};

        run_reference(op);

        // log(4) is rounded once after adding 5 and once after subtracting it.
        EXPECT_NEAR(get(op.losses, 0, 0), std::log(4.0), 1e-15);
        EXPECT_NEAR(get(op.losses, 0, 1), std::log(4.0), 1e-15);
        const Numbers expected{2, -6, 2, 2, 2, 2, 2, -6};
        for (std::size_t i = 0; i < 8; ++i)
            EXPECT_FLOAT_EQ(static_cast<float>(values(op.logits)[i]), static_cast<float>(expected[i]));
        EXPECT_TRUE(t.has_clean_gaps());
    }
}

TEST(CrossEntropy, IsZeroForRowsWithoutTarget) {
    Operands t;
    const CrossEntropy op{
        t.random(1, 5), targets_of(t, {no_target}), t.unwritten_of(device::DType::f64, 1, 1), {}, 3};

    run_reference(op);

    EXPECT_EQ(values(op.losses), (Numbers{0}));
    EXPECT_EQ(values(op.logits), Numbers(5, 0));
}

TEST(CrossEntropy, KeepsTheLogitsIfNoGradientIsRequested) {
    Operands t;
    const CrossEntropy op{t.random(2, 5), targets_of(t, {4, no_target}),
                          t.unwritten_of(device::DType::f64, 1, 2)};
    const Numbers before = values(op.logits);

    run_reference(op);

    EXPECT_EQ(values(op.logits), before);
    EXPECT_GT(get(op.losses, 0, 0), 0);
}

TEST(CrossEntropy, HandlesLogitsOutsideTheRangeOfExp) {
    Operands t(device::DType::f32);
    const CrossEntropy op{t.numbers(2, 3, {1000, 0, -1000, 1000, 0, -1000}),
                          targets_of(t, {0, 2}),
                          t.unwritten_of(device::DType::f64, 1, 2),
                          {},
                          1};

    run_reference(op);

    EXPECT_EQ(values(op.losses), (Numbers{0, 2000}));
    EXPECT_EQ(values(op.logits), (Numbers{0, 0, 0, 1, 0, -1}));
}

TEST(CrossEntropy, OverwritesLogitsWithTheirGradient) {
    constexpr double scale = 0.75;
    for (const double smoothing : {0.0, 0.25}) {
        Operands t;
        const device::Tensor logits = t.random(4, 6);
        const device::Tensor targets = targets_of(t, {3, 0, no_target, 5});
        const CrossEntropy forward{.logits = logits,
                                   .targets = targets,
                                   .losses = t.unwritten_of(device::DType::f64, 1, 4),
                                   .smoothing = smoothing};
        const CrossEntropy both{.logits = t.numbers(4, 6, values(logits)),
                                .targets = targets,
                                .losses = t.unwritten_of(device::DType::f64, 1, 4),
                                .gradient_scale = scale,
                                .smoothing = smoothing};
        const auto loss = [&] {
            run_reference(forward);
            double sum = 0;
            for (const double value : values(forward.losses)) sum += value;
            return scale * sum;
        };

        run_reference(both);

        expect_gradient(cat("logits, smoothing ", smoothing), both.logits, logits, loss);
    }
}

// Each of two equal logits far above the others has half of the probability.
TEST(CrossEntropy, SmoothsTheTargetOverTheVocabulary) {
    for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
        for (device::Stream stream :
             {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{}}}) {
            Operands t(dtype, 3);
            const CrossEntropy op{.logits = t.numbers(1, 4, {1000, 1000, -1000, -1000}),
                                  .targets = targets_of(t, {2}),
                                  .losses = t.unwritten_of(device::DType::f64, 1, 1),
                                  .gradient_scale = 8,
                                  .smoothing = 0.5};

            launch(stream, op);

            // The target is 2000 below the largest, the mean 1000.
            EXPECT_NEAR(get(op.losses, 0, 0), std::log(2) + 0.5 * 2000 + 0.5 * 1000, 1e-12);
            // 8 (1/2 - 1/8), 8 (0 - 1/2 - 1/8), 8 (0 - 1/8), except for the rounding of log(2) + 1000
            const Numbers expected{3, 3, -5, -1};
            for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(values(op.logits)[i], expected[i], 1e-12);
            EXPECT_TRUE(t.has_clean_gaps());
        }
    }
}

TEST(CrossEntropy, ChoosesTheFirstOfTheLargestLogits) {
    for (device::Stream stream :
         {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{}}}) {
        for (const double scale : {0.0, 1.0}) {
            Operands t(device::DType::f32, 2);
            const CrossEntropy op{
                .logits = t.numbers(4, 4, {1, 3, 3, 2, -5, -7, -6, -8, 0, 0, 0, 0, 1, 2, 3, 4}),
                .targets = targets_of(t, {0, 1, no_target, no_target}),
                .losses = t.unwritten_of(device::DType::f64, 1, 4),
                .choices = unchosen(t, 4),
                .gradient_scale = scale};

            launch(stream, op);

            EXPECT_EQ(values(op.choices), (Numbers{1, 0, 0, 3}));
            EXPECT_EQ(get(op.losses, 0, 2), 0);
            EXPECT_EQ(get(op.losses, 0, 3), 0);
            EXPECT_TRUE(t.has_clean_gaps());
        }
    }
}

// The largest logit occurs twice, at every position of a row that is longer than what is searched at once.
TEST(CrossEntropy, FindsTheLargestLogitAtAnyPosition) {
    constexpr std::size_t vocabulary = 600;
    for (std::size_t first = 0; first < vocabulary; ++first) {
        Operands t(device::DType::f32);
        device::Stream stream{device::CpuStream{}};
        const CrossEntropy op{.logits = t.random(1, vocabulary),
                              .targets = targets_of(t, {no_target}),
                              .losses = t.unwritten_of(device::DType::f64, 1, 1),
                              .choices = unchosen(t, 1)};
        set(op.logits, 0, first, 3);
        set(op.logits, 0, (first + vocabulary) / 2, 3);

        launch(stream, op);

        ASSERT_EQ(get(op.choices, 0, 0), static_cast<double>(first));
    }
}

TEST(CrossEntropy, ChoosesTheFirstColumnIfNoLogitIsFinite) {
    for (device::Stream stream :
         {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{}}}) {
        Operands t(device::DType::f32);
        const CrossEntropy op{.logits = t.numbers(2, 2, {nan, nan, -infinity, -infinity}),
                              .targets = targets_of(t, {no_target, no_target}),
                              .losses = t.unwritten_of(device::DType::f64, 1, 2),
                              .choices = unchosen(t, 2)};

        launch(stream, op);

        EXPECT_EQ(values(op.choices), (Numbers{0, 0}));
    }
}

// Makes a smoothed cross-entropy; every fifth row has no target.
CrossEntropy smoothed(Operands& t, std::size_t rows, std::size_t vocabulary, double scale, double smoothing) {
    const device::Tensor targets = t.indices(device::DType::i32, rows, vocabulary);
    for (std::size_t r = 1; r < rows; r += 5) set(targets, 0, r, no_target);
    return {.logits = t.random(rows, vocabulary),
            .targets = targets,
            .losses = t.unwritten_of(device::DType::f64, 1, rows),
            .choices = unchosen(t, rows),
            .gradient_scale = scale,
            .smoothing = smoothing};
}

TEST(CrossEntropy, MatchesReferenceOnCpu) {
    for (const std::size_t vocabulary : {2, 5, 33, 257, 3001}) {
        for (const double smoothing : {0.0, 0.1}) {
            for (const double scale : {0.0, 3.0}) {
                SCOPED_TRACE(cat(vocabulary, " columns, smoothing ", smoothing, ", scale ", scale));
                expect_same_on_cpu([&](Operands& t) { return smoothed(t, 17, vocabulary, scale, smoothing); });
            }
        }
    }
}

TEST(CrossEntropy, DoesNotDependOnTheNumberOfThreads) {
    for (const double smoothing : {0.0, 0.1}) {
        expect_same_bits_on_any_threads([&](Operands& t) { return smoothed(t, 101, 1111, 3, smoothing); });
    }
}

TEST(CrossEntropy, RejectsTargetsOutsideTheVocabulary) {
    Operands t;
    const CrossEntropy op{t.random(2, 5), targets_of(t, {4, 5}), t.unwritten_of(device::DType::f64, 1, 2)};

    try {
        run_reference(op);
        FAIL() << "nothing was thrown";
    } catch (const BugError& error) {
        EXPECT_STREQ(error.what(), "cross_entropy: targets[1] is 5, not within -1 .. 4");
    }
}

TEST(CrossEntropy, RejectsMismatchedShapes) {
    Operands t(device::DType::f32);
    const CrossEntropy few_targets{t.random(2, 5), targets_of(t, {1}),
                                   t.unwritten_of(device::DType::f64, 1, 2)};
    const CrossEntropy single_losses{t.random(2, 5), targets_of(t, {1, 2}), t.unwritten(1, 2)};

    EXPECT_EQ(refusal(few_targets), "cross_entropy: targets is i32 1 x 1, not i32 1 x 2");
    EXPECT_EQ(refusal(single_losses), "cross_entropy: losses is f32 1 x 2, not f64 1 x 2");

    CrossEntropy op{t.random(2, 5), targets_of(t, {1, 2}), t.unwritten_of(device::DType::f64, 1, 2)};
    op.choices = t.unwritten_of(device::DType::i64, 1, 2);
    EXPECT_EQ(refusal(op), "cross_entropy: choices is i64 1 x 2, not i32 1 x 2");
    op.choices = {};
    op.smoothing = 1;
    EXPECT_EQ(refusal(op), "cross_entropy: a label smoothing of 1 is not in [0, 1)");
    op.smoothing = -0.5;
    EXPECT_EQ(refusal(op), "cross_entropy: a label smoothing of -0.5 is not in [0, 1)");
}

TEST(CrossEntropy, CountsLogitBytesTwiceOnlyIfGradientsAreWritten) {
    Operands t(device::DType::f32);
    CrossEntropy op{t.random(2, 5), targets_of(t, {1, 2}), t.unwritten_of(device::DType::f64, 1, 2), {}, 1};

    EXPECT_EQ(op.cost().bytes, 4 * (2 * 10 + 2) + 8 * 2);
    op.gradient_scale = 0;
    EXPECT_EQ(op.cost().bytes, 4 * (10 + 2) + 8 * 2);
    op.choices = unchosen(t, 2);
    EXPECT_EQ(op.cost().bytes, 4 * (10 + 2 + 2) + 8 * 2);
}

}  // namespace
}  // namespace trireme::kernels
