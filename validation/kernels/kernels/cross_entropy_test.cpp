#include "trireme/kernels/cross_entropy.hpp"

#include "oracle.hpp"

namespace trireme {
namespace {

using Numbers = std::vector<double>;

Tensor targets_of(Operands& t, const Numbers& content) {
    return t.numbers_of(DType::i32, 1, content.size(), content);
}

TEST(CrossEntropy, OfEqualLogitsIsTheLogOfTheVocabulary) {
    for (const DType dtype : {DType::f32, DType::f64}) {
        Operands t(dtype, 3);
        const CrossEntropy op{.logits = t.numbers(2, 4, Numbers(8, 5)),
                              .targets = targets_of(t, {1, 3}),
                              .losses = t.unwritten_of(DType::f64, 1, 2),
                              .gradient_scale = 8};

        run_reference(op);

        // log(4) is rounded once after 5 is added and once after it is taken away.
        EXPECT_NEAR(get(op.losses, 0, 0), std::log(4.0), 1e-15);
        EXPECT_NEAR(get(op.losses, 0, 1), std::log(4.0), 1e-15);
        const Numbers expected{2, -6, 2, 2, 2, 2, 2, -6};
        for (std::size_t i = 0; i < 8; ++i)
            EXPECT_FLOAT_EQ(static_cast<float>(values(op.logits)[i]), static_cast<float>(expected[i]));
        EXPECT_TRUE(t.has_clean_gaps());
    }
}

TEST(CrossEntropy, OfARowWithoutTargetIsZero) {
    Operands t;
    const CrossEntropy op{t.random(1, 5), targets_of(t, {no_target}), t.unwritten_of(DType::f64, 1, 1), 3};

    run_reference(op);

    EXPECT_EQ(values(op.losses), (Numbers{0}));
    EXPECT_EQ(values(op.logits), Numbers(5, 0));
}

TEST(CrossEntropy, LeavesTheLogitsWhenNoGradientIsWanted) {
    Operands t;
    const CrossEntropy op{t.random(2, 5), targets_of(t, {4, no_target}), t.unwritten_of(DType::f64, 1, 2), 0};
    const Numbers before = values(op.logits);

    run_reference(op);

    EXPECT_EQ(values(op.logits), before);
    EXPECT_GT(get(op.losses, 0, 0), 0);
}

TEST(CrossEntropy, SurvivesLogitsThatExpCannotHold) {
    Operands t(DType::f32);
    const CrossEntropy op{t.numbers(2, 3, {1000, 0, -1000, 1000, 0, -1000}), targets_of(t, {0, 2}),
                          t.unwritten_of(DType::f64, 1, 2), 1};

    run_reference(op);

    EXPECT_EQ(values(op.losses), (Numbers{0, 2000}));
    EXPECT_EQ(values(op.logits), (Numbers{0, 0, 0, 1, 0, -1}));
}

TEST(CrossEntropy, WritesItsGradient) {
    constexpr double scale = 0.75;
    Operands t;
    const Tensor logits = t.random(4, 6);
    const Tensor targets = targets_of(t, {3, 0, no_target, 5});
    const CrossEntropy forward{logits, targets, t.unwritten_of(DType::f64, 1, 4), 0};
    const CrossEntropy both{t.numbers(4, 6, values(logits)), targets, t.unwritten_of(DType::f64, 1, 4), scale};
    const auto loss = [&] {
        run_reference(forward);
        double sum = 0;
        for (const double value : values(forward.losses)) sum += value;
        return scale * sum;
    };

    run_reference(both);

    expect_gradient("logits", both.logits, logits, loss);
}

TEST(CrossEntropy, RefusesATargetBeyondTheVocabulary) {
    Operands t;
    const CrossEntropy op{t.random(2, 5), targets_of(t, {4, 5}), t.unwritten_of(DType::f64, 1, 2), 0};

    try {
        run_reference(op);
        FAIL() << "nothing was thrown";
    } catch (const BugError& error) {
        EXPECT_STREQ(error.what(), "cross_entropy: targets[1] is 5, not within -1 .. 4");
    }
}

TEST(CrossEntropy, RefusesShapesThatDoNotFit) {
    Operands t(DType::f32);
    const CrossEntropy few_targets{t.random(2, 5), targets_of(t, {1}), t.unwritten_of(DType::f64, 1, 2), 0};
    const CrossEntropy single_losses{t.random(2, 5), targets_of(t, {1, 2}), t.unwritten(1, 2), 0};

    EXPECT_EQ(refusal(few_targets), "cross_entropy: targets is i32 1 x 1, not i32 1 x 2");
    EXPECT_EQ(refusal(single_losses), "cross_entropy: losses is f32 1 x 2, not f64 1 x 2");
}

TEST(CrossEntropy, CostsTheLogitsTwiceOnlyForGradients) {
    Operands t(DType::f32);
    CrossEntropy op{t.random(2, 5), targets_of(t, {1, 2}), t.unwritten_of(DType::f64, 1, 2), 1};

    EXPECT_EQ(op.cost().bytes, 4 * (2 * 10 + 2) + 8 * 2);
    op.gradient_scale = 0;
    EXPECT_EQ(op.cost().bytes, 4 * (10 + 2) + 8 * 2);
}

}  // namespace
}  // namespace trireme
