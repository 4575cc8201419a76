#include "trireme/kernels/cross_entropy.hpp"

#include "gpu_comparison.hpp"
#include "loss_operands.hpp"

namespace trireme {
namespace {

kernels::CrossEntropy cross_entropy_of(GpuOperands& t, std::size_t rows, std::size_t vocabulary) {
    return {.logits = t.random(rows, vocabulary),
            .targets = t.numbers_of(device::DType::i32, 1, rows, some_targets(rows, vocabulary)),
            .losses = t.unwritten_of(device::DType::f64, 1, rows),
            .choices = unchosen(t, 1, rows),
            .gradient_scale = 3,
            .smoothing = 0.1};
}

TEST(GpuBackend, MatchesReferenceForCrossEntropy) {
    for (const std::size_t vocabulary : {2, 6, 257, 3001}) {
        SCOPED_TRACE(cat(vocabulary, " columns"));
        expect_same_on_gpu([&](GpuOperands& t) { return cross_entropy_of(t, 6, vocabulary); });
    }
}

// More threads share a row of this length.
TEST(GpuBackend, MatchesReferenceForCrossEntropyWithALargeVocabulary) {
    expect_same_on_gpu([](GpuOperands& t) { return cross_entropy_of(t, 2, 20'001); });
}

TEST(GpuBackend, MatchesReferenceForAllOptionsOfCrossEntropy) {
    for (const double scale : {0.0, 3.0}) {
        for (const double smoothing : {0.0, 0.1}) {
            for (const bool has_choices : {false, true}) {
                SCOPED_TRACE(cat("scale ", scale, ", smoothing ", smoothing, ", choices ", has_choices));
                expect_same_on_gpu([&](GpuOperands& t) {
                    kernels::CrossEntropy op = cross_entropy_of(t, 7, 45);
                    if (!has_choices) op.choices = {};
                    op.gradient_scale = scale;
                    op.smoothing = smoothing;
                    return op;
                });
            }
        }
    }
}

TEST(GpuBackend, AcceptsCrossEntropyWithoutRows) {
    expect_same_on_gpu([](GpuOperands& t) { return cross_entropy_of(t, 0, 9); });
}

// A large common offset must not change the losses. Floats of that size are multiples of 1/1024, so the
// differences are exact. In 16 bits they would be lost.
TEST(GpuBackend, ComputesAccurateLossesForLargeLogits) {
    for (const double offset : {1e4, -1e4}) {
        const auto make = [&](GpuOperands& t) {
            kernels::CrossEntropy op = cross_entropy_of(t, 5, 300);
            std::vector<double> logits;
            for (std::size_t i = 0; i < op.logits.size(); ++i) {
                logits.push_back(offset + static_cast<double>(i * 37 % 101) / 64);
            }
            op.logits = t.numbers(5, 300, logits);
            op.gradient_scale = 3e4;  // as large as the logits, to which the tolerance is relative
            return op;
        };
        expect_same_on_gpu(make, {device::DType::f32, device::DType::f64});
    }
}

TEST(GpuBackend, AvoidsOverflowOfLargeLogits) {
    expect_same_on_gpu([](GpuOperands& t) {
        return kernels::CrossEntropy{.logits = t.numbers(3, 4,
                                                         {1000, 0, -1000, -1000, 1000, 0, -1000, 1000,  //
                                                          -kernels::infinity, 2, -kernels::infinity, 1}),
                                     .targets = t.numbers_of(device::DType::i32, 1, 3, {0, 2, 3}),
                                     .losses = t.unwritten_of(device::DType::f64, 1, 3),
                                     .choices = unchosen(t, 1, 3),
                                     .gradient_scale = 1};
    });
}

// Returns the results of `make`'s operation on the GPU.
template <class Make>
std::vector<std::vector<double>> on_gpu(device::DType dtype, Make&& make) {
    device::Stream stream = kernels::make_gpu_stream();
    GpuOperands t = GpuOperands::of_gpu(stream, dtype, 3);
    kernels::launch(stream, make(t));
    std::vector<std::vector<double>> results;
    for (const device::Tensor& tensor : t.results()) results.push_back(kernels::values(tensor));
    return results;
}

TEST(GpuBackend, ChoosesTheFirstOfTheLargestLogits) {
    for (const device::DType dtype : {device::DType::f64, device::DType::f32, device::DType::bf16}) {
        for (const std::size_t first : {0, 1, 7, 31, 32, 300, 519, 520}) {
            const auto results = on_gpu(dtype, [&](GpuOperands& t) {
                std::vector<double> logits(521, -2);
                logits[first] = logits[520] = logits[(first + 521) / 2] = -1;
                return kernels::CrossEntropy{
                    .logits = t.numbers(1, 521, logits),
                    .targets = t.numbers_of(device::DType::i32, 1, 1, {kernels::no_target}),
                    .losses = t.unwritten_of(device::DType::f64, 1, 1),
                    .choices = unchosen(t, 1, 1)};
            });

            EXPECT_EQ(results[3], std::vector<double>{static_cast<double>(first)});
        }
    }
}

TEST(GpuBackend, ChoosesAValidColumnForNaNAndInfiniteLogits) {
    for (const device::DType dtype : {device::DType::f64, device::DType::f32, device::DType::bf16}) {
        const auto results = on_gpu(dtype, [&](GpuOperands& t) {
            return kernels::CrossEntropy{
                .logits = t.numbers(
                    3, 2,
                    {kernels::nan, kernels::nan, -kernels::infinity, -kernels::infinity, kernels::nan, 1}),
                .targets = t.numbers_of(device::DType::i32, 1, 3, {kernels::no_target, kernels::no_target, 1}),
                .losses = t.unwritten_of(device::DType::f64, 1, 3),
                .choices = unchosen(t, 1, 3),
            };
        });

        EXPECT_EQ(results[3], (std::vector<double>{0, 0, 1}));
        EXPECT_TRUE(std::isnan(results[2][2])) << "a NaN among the logits does not show in the loss";
    }
}

TEST(GpuBackend, ReturnsNaNLossForTargetsBeyondTheVocabulary) {
    const auto results = on_gpu(device::DType::f32, [&](GpuOperands& t) {
        return kernels::CrossEntropy{.logits = t.random(2, 5),
                                     .targets = t.numbers_of(device::DType::i32, 1, 2, {4, 5}),
                                     .losses = t.unwritten_of(device::DType::f64, 1, 2),
                                     .gradient_scale = 1};
    });

    EXPECT_FALSE(std::isnan(results[2][0]));
    EXPECT_TRUE(std::isnan(results[2][1]));
}

}  // namespace
}  // namespace trireme
