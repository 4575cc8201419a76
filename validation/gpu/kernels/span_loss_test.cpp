#include "trireme/kernels/span_loss.hpp"

#include <limits>

#include "gpu_comparison.hpp"
#include "loss_operands.hpp"

namespace trireme {
namespace {

using Segments = std::vector<kernels::Segment>;

// Returns pairs of first and last rows, or of begins and ends, one per segment.
device::Tensor make_pairs(GpuOperands& t, const std::vector<double>& content) {
    return t.numbers_of(device::DType::i32, content.size() / 2, 2, content);
}

TEST(GpuBackend, MatchesReferenceForSpanLoss) {
    const Segments segments{{40, 60}, {1, 33}, {34, 1}, {35, 1}, {101, 300}, {405, 0}};
    for (const double scale : {0.0, 3.0}) {
        SCOPED_TRACE(cat("scale ", scale));
        expect_same_on_gpu([&](GpuOperands& t) {
            return kernels::SpanLoss{.logits = t.random(410, 2),
                                     .segments = segments,
                                     .answers = make_pairs(t, {7, 59, 0, 32, kernels::no_target, 0, 0, 0, 299,
                                                               1, kernels::no_target, 0}),
                                     .losses = t.unwritten_of(device::DType::f64, 1, segments.size()),
                                     .gradient_scale = scale};
        });
    }
}

TEST(GpuBackend, AcceptsSpanLossWithoutSegments) {
    expect_same_on_gpu([](GpuOperands& t) {
        return kernels::SpanLoss{.logits = t.random(3, 2),
                                 .segments = {},
                                 .answers = t.numbers_of(device::DType::i32, 0, 2, {}),
                                 .losses = t.unwritten_of(device::DType::f64, 1, 0),
                                 .gradient_scale = 2};
    });
}

TEST(GpuBackend, AvoidsOverflowOfLargeSpanLogits) {
    const Segments segments{{1, 4}};
    expect_same_on_gpu([&](GpuOperands& t) {
        return kernels::SpanLoss{.logits = t.numbers(6, 2, {9, 9, 5, 0, 5, 0, 5, -3008, 5, -3008, 9, 9}),
                                 .segments = segments,
                                 .answers = make_pairs(t, {0, 3}),
                                 .losses = t.unwritten_of(device::DType::f64, 1, 1),
                                 .gradient_scale = 16};
    });
}

kernels::BestSpan best_span_of(GpuOperands& t, const Segments& segments, std::vector<double> contexts,
                               std::size_t longest) {
    return {.logits = t.random(405, 2),
            .segments = segments,
            .contexts = make_pairs(t, contexts),
            .choices = unchosen(t, segments.size(), 2),
            .max_rows = longest};
}

TEST(GpuBackend, MatchesReferenceForBestSpan) {
    const Segments segments{{40, 60}, {1, 33}, {34, 1}, {101, 300}, {401, 3}, {404, 0}};
    for (const std::size_t longest : {1, 9, 1000}) {
        SCOPED_TRACE(cat("longest ", longest));
        expect_same_on_gpu([&](GpuOperands& t) {
            return best_span_of(t, segments, {5, 60, 0, 33, 0, 1, 20, 299, 3, 0, -1, -1}, longest);
        });
    }
}

// Spans with equal sums, in the rows of one thread and of several.
TEST(GpuBackend, ChoosesTheFirstOfTheBestSpans) {
    const Segments segments{{2, 300}};
    for (const std::size_t first : {0, 17, 190}) {
        expect_same_on_gpu([&](GpuOperands& t) {
            std::vector<double> logits(2 * 303, -2);
            for (const std::size_t row : {first, first + 20, first + 99})
                logits[2 * (row + 2)] = logits[2 * (row + 4) + 1] = 1;
            return kernels::BestSpan{.logits = t.numbers(303, 2, logits),
                                     .segments = segments,
                                     .contexts = make_pairs(t, {0, 300}),
                                     .choices = unchosen(t, 1, 2)};
        });
    }
}

TEST(GpuBackend, ChoosesValidRowsForNaNAndInfiniteLogits) {
    const Segments segments{{0, 2}, {2, 2}, {4, 3}};
    for (const device::DType dtype : {device::DType::f64, device::DType::f32, device::DType::bf16}) {
        device::Stream stream = kernels::make_gpu_stream();
        GpuOperands t = GpuOperands::of_gpu(stream, dtype, 3);
        const std::vector<double> logits{kernels::nan,
                                         kernels::nan,
                                         kernels::nan,
                                         kernels::nan,
                                         -kernels::infinity,
                                         -kernels::infinity,
                                         -kernels::infinity,
                                         0,
                                         1,
                                         1,
                                         kernels::nan,
                                         5,
                                         3,
                                         2};
        launch(stream, kernels::BestSpan{.logits = t.numbers(7, 2, logits),
                                         .segments = segments,
                                         .contexts = make_pairs(t, {0, 2, 0, 2, 0, 3}),
                                         .choices = unchosen(t, 3, 2)});

        EXPECT_EQ(kernels::values(t.results()[2]), (std::vector<double>{0, 0, 0, 0, 0, 1}));
    }
}

}  // namespace
}  // namespace trireme
