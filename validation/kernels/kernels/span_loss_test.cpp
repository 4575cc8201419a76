#include "trireme/kernels/span_loss.hpp"

#include "comparison.hpp"
#include "trireme/kernels/cross_entropy.hpp"

namespace trireme::kernels {
namespace {

using Numbers = std::vector<double>;
using Segments = std::vector<Segment>;

// Returns pairs of first and last rows, or of begins and ends, one per segment.
device::Tensor make_pairs(Operands& t, const Numbers& content) {
    return t.numbers_of(device::DType::i32, content.size() / 2, 2, content);
}

// Returns choices with values that no kernel computes.
device::Tensor unchosen(Operands& t, std::size_t segments) {
    return make_pairs(t, Numbers(2 * segments, -777));
}

TEST(SpanLoss, IsTheMeanOfTheLossesOfBothEnds) {
    const Segments segments{{1, 4}};
    for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
        for (device::Stream stream :
             {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{}}}) {
            Operands t(dtype, 3);
            const SpanLoss op{.logits = t.numbers(6, 2, {9, 9, 5, 0, 5, 0, 5, -3000, 5, -3000, 9, 9}),
                              .segments = segments,
                              .answers = make_pairs(t, {0, 3}),
                              .losses = t.unwritten_of(device::DType::f64, 1, 1),
                              .gradient_scale = 16};

            launch(stream, op);

            // The begin has four equal logits. The end has two, with the answer 3000 below them.
            EXPECT_NEAR(get(op.losses, 0, 0), (std::log(4) + std::log(2) + 3000) / 2, 1e-12);
            const Numbers expected{0, 0, -6, 4, 2, 4, 2, 0, 2, -8, 0, 0};
            for (std::size_t i = 0; i < expected.size(); ++i) {
                EXPECT_NEAR(values(op.logits)[i], expected[i], 1e-12) << "element " << i;
            }
            EXPECT_TRUE(t.has_clean_gaps());
        }
    }
}

TEST(SpanLoss, IsZeroForSegmentsWithoutAnswer) {
    const Segments segments{{0, 2}, {2, 1}, {3, 0}};
    for (device::Stream stream :
         {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{}}}) {
        Operands t(device::DType::f32, 2);
        const SpanLoss op{.logits = t.random(5, 2),
                          .segments = segments,
                          .answers = make_pairs(t, {no_target, no_target, 0, 0, no_target, 7}),
                          .losses = t.unwritten_of(device::DType::f64, 1, 3),
                          .gradient_scale = 2};

        launch(stream, op);

        EXPECT_EQ(values(op.losses), (Numbers{0, 0, 0}));  // the second segment has only one row
        EXPECT_EQ(values(op.logits), Numbers(10, 0));
        EXPECT_TRUE(t.has_clean_gaps());
    }
}

TEST(SpanLoss, KeepsTheLogitsIfNoGradientIsRequested) {
    const Segments segments{{0, 3}};
    for (device::Stream stream :
         {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{}}}) {
        Operands t;
        const SpanLoss op{t.random(4, 2), segments, make_pairs(t, {1, 2}),
                          t.unwritten_of(device::DType::f64, 1, 1)};
        const Numbers before = values(op.logits);

        launch(stream, op);

        EXPECT_EQ(values(op.logits), before);
        EXPECT_GT(get(op.losses, 0, 0), 0);
    }
}

// Computes the cross-entropy of a column as that of a row.
TEST(SpanLoss, IsTheCrossEntropyOverTheRowsOfASegment) {
    const Segments segments{{3, 5}, {0, 3}};
    Operands t;
    const device::Tensor logits = t.random(8, 2);
    const device::Tensor answers = make_pairs(t, {1, 4, 2, 2});
    Numbers expected;
    for (std::size_t s = 0; s < segments.size(); ++s) {
        double sum = 0;
        for (std::size_t end = 0; end < 2; ++end) {
            Numbers column;
            for (std::size_t r = 0; r < segments[s].length; ++r) {
                column.push_back(get(logits, segments[s].begin + r, end));
            }
            const CrossEntropy one{t.numbers(1, column.size(), column),
                                   t.numbers_of(device::DType::i32, 1, 1, {get(answers, s, end)}),
                                   t.unwritten_of(device::DType::f64, 1, 1)};
            run_reference(one);
            sum += get(one.losses, 0, 0);
        }
        expected.push_back(sum / 2);
    }
    const SpanLoss op{logits, segments, answers, t.unwritten_of(device::DType::f64, 1, 2)};

    run_reference(op);

    EXPECT_NEAR(get(op.losses, 0, 0), expected[0], 1e-14);
    EXPECT_NEAR(get(op.losses, 0, 1), expected[1], 1e-14);
}

TEST(SpanLoss, OverwritesLogitsWithTheirGradient) {
    constexpr double scale = 0.75;
    const Segments segments{{5, 4}, {0, 3}, {3, 1}};
    Operands t;
    const device::Tensor logits = t.random(10, 2);
    const device::Tensor answers = make_pairs(t, {1, 3, no_target, 0, 0, 0});
    const SpanLoss forward{logits, segments, answers, t.unwritten_of(device::DType::f64, 1, 3)};
    const SpanLoss both{t.numbers(10, 2, values(logits)), segments, answers,
                        t.unwritten_of(device::DType::f64, 1, 3), scale};
    const auto loss = [&] {
        run_reference(forward);
        double sum = 0;
        for (const double value : values(forward.losses)) sum += value;
        return scale * sum;
    };

    run_reference(both);

    expect_gradient("logits", both.logits, logits, loss);
    EXPECT_EQ(values(both.losses), values(forward.losses));
}

TEST(BestSpan, MaximisesTheSumOfItsFirstAndLastLogits) {
    const Segments segments{{1, 4}};
    for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
        for (device::Stream stream :
             {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{}}}) {
            Operands t(dtype, 1);
            const device::Tensor logits = t.numbers(6, 2, {99, 99, 1, 8, 2, 3, 7, 1, 0, 2, 99, 99});
            BestSpan op{.logits = logits,
                        .segments = segments,
                        .contexts = make_pairs(t, {0, 4}),
                        .choices = unchosen(t, 1)};

            launch(stream, op);
            // 7 + 8 would be a span that ends before it begins.
            EXPECT_EQ(values(op.choices), (Numbers{0, 0}));

            op.contexts = make_pairs(t, {1, 4});
            launch(stream, op);
            EXPECT_EQ(values(op.choices), (Numbers{2, 3}));

            op.max_rows = 1;
            launch(stream, op);
            EXPECT_EQ(values(op.choices), (Numbers{2, 2}));

            op.contexts = make_pairs(t, {1, 2});
            launch(stream, op);
            EXPECT_EQ(values(op.choices), (Numbers{1, 1}));
            EXPECT_EQ(get(logits, 5, 1), 99);
            EXPECT_TRUE(t.has_clean_gaps());
        }
    }
}

TEST(BestSpan, IsTheFirstOfSpansWithEqualSums) {
    const Segments segments{{0, 3}, {3, 3}};
    for (device::Stream stream :
         {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{}}}) {
        Operands t(device::DType::f32);
        const BestSpan op{.logits = t.numbers(6, 2, {0, 1, 1, 0, 1, 1, -5, -9, -4, -8, -9, -8}),
                          .segments = segments,
                          .contexts = make_pairs(t, {0, 3, 0, 3}),
                          .choices = unchosen(t, 2)};

        launch(stream, op);

        EXPECT_EQ(values(op.choices), (Numbers{1, 2, 1, 1}));
    }
}

TEST(BestSpan, IsNoneForEmptyContexts) {
    const Segments segments{{0, 3}, {3, 3}, {6, 0}, {6, 2}};
    for (device::Stream stream :
         {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{}}}) {
        Operands t;
        const BestSpan op{.logits = t.random(8, 2),
                          .segments = segments,
                          .contexts = make_pairs(t, {2, 2, 3, 0, 0, 0, -1, -1}),
                          .choices = unchosen(t, 4)};

        launch(stream, op);

        EXPECT_EQ(values(op.choices), Numbers(8, -1));
    }
}

TEST(BestSpan, IsTheFirstRowIfNoSumIsFinite) {
    const Segments segments{{0, 2}, {2, 2}};
    for (device::Stream stream :
         {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{}}}) {
        Operands t;
        const BestSpan op{.logits = t.numbers(4, 2, {nan, nan, nan, nan, -infinity, -infinity, -infinity, 0}),
                          .segments = segments,
                          .contexts = make_pairs(t, {0, 2, 0, 2}),
                          .choices = unchosen(t, 2)};

        launch(stream, op);

        EXPECT_EQ(values(op.choices), Numbers(4, 0));
    }
}

// Compares with a search over every pair of rows, valid or not.
TEST(BestSpan, ConsidersEveryValidPair) {
    constexpr std::size_t rows = 23;
    for (const std::size_t longest : {1, 2, 7, 30}) {
        const Segments segments{{2, rows}};
        Operands t;
        const BestSpan op{.logits = t.random(rows + 3, 2),
                          .segments = segments,
                          .contexts = make_pairs(t, {3, rows}),
                          .choices = unchosen(t, 1),
                          .max_rows = longest};
        double most = -100;
        for (std::size_t first = 0; first < rows; ++first) {
            for (std::size_t last = 0; last < rows; ++last) {
                if (first < 3 || last < first || last - first >= longest) continue;
                most = std::max(most, get(op.logits, 2 + first, 0) + get(op.logits, 2 + last, 1));
            }
        }

        run_reference(op);

        const auto first = static_cast<std::size_t>(get(op.choices, 0, 0));
        const auto last = static_cast<std::size_t>(get(op.choices, 0, 1));
        ASSERT_TRUE(3 <= first && first <= last && last < rows && last - first < longest);
        EXPECT_EQ(get(op.logits, 2 + first, 0) + get(op.logits, 2 + last, 1), most);
    }
}

TEST(Spans, MatchReferenceOnCpu) {
    const Segments segments{{40, 60}, {1, 33}, {34, 1}};
    for (const double scale : {0.0, 3.0}) {
        expect_same_on_cpu([&](Operands& t) {
            return SpanLoss{t.random(101, 2), segments, make_pairs(t, {7, 59, 0, 32, no_target, 0}),
                            t.unwritten_of(device::DType::f64, 1, 3), scale};
        });
    }
    expect_same_on_cpu([&](Operands& t) {
        return BestSpan{t.random(101, 2), segments, make_pairs(t, {5, 60, 0, 33, 0, 1}), unchosen(t, 3), 9};
    });
}

TEST(Spans, DoNotDependOnTheNumberOfThreads) {
    Segments segments;
    Numbers answers;
    for (std::size_t s = 0; s < 100; ++s) {
        segments.push_back({s * 400, 384});
        answers.insert(answers.end(), {static_cast<double>(s), 300});
    }
    expect_same_bits_on_any_threads([&](Operands& t) {
        return SpanLoss{t.random(40'000, 2), segments, make_pairs(t, answers),
                        t.unwritten_of(device::DType::f64, 1, 100), 3};
    });
    expect_same_bits_on_any_threads([&](Operands& t) {
        return BestSpan{t.random(40'000, 2), segments, make_pairs(t, answers), unchosen(t, 100)};
    });
}

TEST(Spans, RejectRowsOutsideTheirSegment) {
    const Segments segments{{0, 2}, {2, 3}};
    for (device::Stream stream :
         {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{}}}) {
        Operands t;
        const device::Tensor logits = t.random(5, 2);
        const device::Tensor losses = t.unwritten_of(device::DType::f64, 1, 2);
        const auto sentence = [&](const auto& op) -> std::string {
            try {
                launch(stream, op);
            } catch (const BugError& error) {
                return error.what();
            }
            return "nothing is wrong";
        };

        EXPECT_EQ(sentence(SpanLoss{logits, segments, make_pairs(t, {0, 1, 1, 3}), losses}),
                  "span_loss: answers[1] is (1, 3), not within 0 .. 2");
        EXPECT_EQ(sentence(SpanLoss{logits, segments, make_pairs(t, {0, no_target, 1, 2}), losses}),
                  "span_loss: answers[0] is (0, -1), not within 0 .. 1");
        EXPECT_EQ(sentence(BestSpan{logits, segments, make_pairs(t, {0, 2, 1, 4}), unchosen(t, 2)}),
                  "best_span: contexts[1] is (1, 4), not within 0 .. 3");
        EXPECT_EQ(sentence(BestSpan{logits, segments, make_pairs(t, {-1, 2, 0, 3}), unchosen(t, 2)}),
                  "best_span: contexts[0] is (-1, 2), not within 0 .. 2");
    }
}

TEST(Spans, RejectMismatchedShapes) {
    const Segments segments{{0, 2}, {2, 3}};
    const Segments crossing{{0, 3}, {2, 3}};
    Operands t(device::DType::f32);
    const device::Tensor logits = t.random(5, 2);
    const device::Tensor pairs = make_pairs(t, {0, 1, 0, 1});
    const device::Tensor losses = t.unwritten_of(device::DType::f64, 1, 2);

    EXPECT_EQ(refusal(SpanLoss{t.random(5, 3), segments, pairs, losses}),
              "span_loss: logits is f32 5 x 3, not f32 5 x 2");
    EXPECT_EQ(refusal(SpanLoss{logits, crossing, pairs, losses}),
              "span_loss: the segment from row 2 begins before the previous segment ends at row 3");
    EXPECT_EQ(refusal(SpanLoss{logits, segments, make_pairs(t, {0, 1}), losses}),
              "span_loss: answers is i32 1 x 2, not i32 2 x 2");
    EXPECT_EQ(refusal(SpanLoss{logits, segments, pairs, t.unwritten(1, 2)}),
              "span_loss: losses is f32 1 x 2, not f64 1 x 2");
    EXPECT_EQ(refusal(BestSpan{t.random(4, 2), segments, pairs, pairs}),
              "best_span: a segment of 3 rows from row 2 does not fit into 4 rows");
    EXPECT_EQ(refusal(BestSpan{logits, segments, logits, pairs}),
              "best_span: contexts is f32 5 x 2, not i32 2 x 2");
    EXPECT_EQ(refusal(BestSpan{logits, segments, pairs, losses}),
              "best_span: choices is f64 1 x 2, not i32 2 x 2");
    EXPECT_EQ(refusal(BestSpan{logits, segments, pairs, pairs, 0}),
              "best_span: max_rows is 0, but an answer has at least one row");
}

TEST(Spans, CountLogitBytesTwiceOnlyIfGradientsAreWritten) {
    const Segments segments{{0, 5}};
    Operands t(device::DType::f32);
    const device::Tensor pair = make_pairs(t, {0, 1});
    SpanLoss op{t.random(5, 2), segments, pair, t.unwritten_of(device::DType::f64, 1, 1), 1};

    EXPECT_EQ(op.cost().bytes, 4 * (2 * 10 + 2) + 8);
    op.gradient_scale = 0;
    EXPECT_EQ(op.cost().bytes, 4 * (10 + 2) + 8);
    EXPECT_EQ((BestSpan{op.logits, segments, pair, pair}.cost().bytes), 4 * (10 + 2 + 2));
}

}  // namespace
}  // namespace trireme::kernels
