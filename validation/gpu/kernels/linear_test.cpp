#include "trireme/kernels/linear.hpp"

#include "gpu_comparison.hpp"

namespace trireme {
namespace {

template <class Test>
void for_each_matmul(Test&& test) {
    for (const std::size_t rows : {1, 17, 63}) {
        for (const std::size_t in : {5, 64}) {
            for (const std::size_t out : {3, 100}) {
                for (const kernels::WeightAxes axes :
                     {kernels::WeightAxes::in_out, kernels::WeightAxes::out_in}) {
                    SCOPED_TRACE(cat(rows, " rows, ", in, " inputs, ", out, " outputs, weight ",
                                     axes == kernels::WeightAxes::in_out ? "in x out" : "out x in"));
                    test(rows, in, out, axes);
                    if (testing::Test::HasFailure()) return;
                }
            }
        }
    }
}

// Returns no bias, an aligned bias, or a bias at an address that the library does not support.
device::ConstTensor random_bias(GpuOperands& t, std::size_t out, std::size_t which) {
    if (which == 0) return {};
    return which == 1 ? t.random(1, out) : t.random(1, out + 1).column_range(1, out);
}

device::Tensor random_weight(GpuOperands& t, std::size_t in, std::size_t out, kernels::WeightAxes axes) {
    return axes == kernels::WeightAxes::in_out ? t.random(in, out) : t.random(out, in);
}

TEST(GpuBackend, MatchesReferenceForLinear) {
    for_each_matmul([](std::size_t rows, std::size_t in, std::size_t out, kernels::WeightAxes axes) {
        expect_same_on_gpu([&](GpuOperands& t) {
            return kernels::Linear{t.random(rows, in), random_weight(t, in, out, axes),
                                   random_bias(t, out, rows % 3), t.unwritten(rows, out), axes};
        });
    });
}

TEST(GpuBackend, MatchesReferenceForLinearBackwardInput) {
    for_each_matmul([](std::size_t rows, std::size_t in, std::size_t out, kernels::WeightAxes axes) {
        for (const bool accumulate : {false, true}) {
            expect_same_on_gpu([&](GpuOperands& t) {
                return kernels::LinearBackwardInput{t.random(rows, out), random_weight(t, in, out, axes),
                                                    accumulate ? t.random(rows, in) : t.unwritten(rows, in),
                                                    axes, accumulate};
            });
        }
    });
}

TEST(GpuBackend, MatchesReferenceForLinearBackwardWeight) {
    for_each_matmul([](std::size_t rows, std::size_t in, std::size_t out, kernels::WeightAxes axes) {
        expect_same_on_gpu([&](GpuOperands& t) {
            const device::Tensor grad_bias = rows % 2 == 1 ? t.wide_random(1, out) : device::Tensor{};
            const device::Tensor grad_weight =
                axes == kernels::WeightAxes::in_out ? t.wide_random(in, out) : t.wide_random(out, in);
            return kernels::LinearBackwardWeight{t.random(rows, in), t.random(rows, out), grad_weight,
                                                 grad_bias, axes};
        });
    });
}

// Sides that are not multiples of 8, in rows that begin at whole vectors, like GPT-2's logits.
TEST(GpuBackend, MatchesReferenceForMatmulsThatItSplitsInTwo) {
    constexpr std::size_t ragged = 101, whole = 104;
    const auto of_logits = [](device::Tensor rows) { return rows.column_range(0, ragged); };
    for (const bool accumulate : {false, true}) {
        expect_same_on_gpu([&](GpuOperands& t) {
            return kernels::LinearBackwardInput{of_logits(t.random(17, whole)), t.random(ragged, 24),
                                                accumulate ? t.random(17, 24) : t.unwritten(17, 24),
                                                kernels::WeightAxes::out_in, accumulate};
        });
    }
    for (const bool has_bias : {false, true}) {
        expect_same_on_gpu([&](GpuOperands& t) {
            return kernels::Linear{t.random(17, 24), t.random(ragged, 24),
                                   has_bias ? t.random(1, ragged) : device::Tensor{},
                                   of_logits(t.unwritten(17, whole)), kernels::WeightAxes::out_in};
        });
    }
    for (const kernels::WeightAxes axes : {kernels::WeightAxes::in_out, kernels::WeightAxes::out_in}) {
        expect_same_on_gpu([&](GpuOperands& t) {
            return kernels::LinearBackwardWeight{of_logits(t.random(17, whole)), of_logits(t.random(17, whole)),
                                                 of_logits(t.wide_random(ragged, whole)), device::Tensor{},
                                                 axes};
        });
    }
}

// Tests widths with rows that the library supports (a multiple of 8) and others, and all activations, of which
// the library supports only one.
template <class Test>
void for_each_activation(Test&& test) {
    for (const kernels::ActivationKind kind :
         {kernels::ActivationKind::gelu_tanh, kernels::ActivationKind::gelu, kernels::ActivationKind::tanh}) {
        for (const std::size_t width : {64, 100}) {
            for (const kernels::WeightAxes axes : {kernels::WeightAxes::in_out, kernels::WeightAxes::out_in}) {
                for (const bool has_bias : {true, false}) test(kind, width, axes, has_bias);
            }
        }
    }
}

TEST(GpuBackend, MatchesReferenceForFusedActivations) {
    for_each_activation(
        [](kernels::ActivationKind kind, std::size_t width, kernels::WeightAxes axes, bool has_bias) {
            expect_same_on_gpu([&](GpuOperands& t) {
                return kernels::Linear{.input = t.random(17, 12),
                                       .weight = random_weight(t, 12, width, axes),
                                       .bias = has_bias ? t.random(1, width) : device::Tensor{},
                                       .output = t.unwritten(17, width),
                                       .axes = axes,
                                       .activated_output = t.unwritten(17, width),
                                       .activation = kind};
            });
        });
}

TEST(GpuBackend, MatchesReferenceForFusedActivationGradients) {
    for_each_activation([](kernels::ActivationKind kind, std::size_t width, kernels::WeightAxes axes, bool) {
        expect_same_on_gpu([&](GpuOperands& t) {
            return kernels::LinearBackwardInput{.grad_output = t.random(17, 12),
                                                .weight = random_weight(t, width, 12, axes),
                                                .grad_input = t.unwritten(17, width),
                                                .axes = axes,
                                                .activation_input = t.random(17, width),
                                                .activation = kind};
        });
    });
}

// Many rows, so that the sums consist of several partial sums.
TEST(GpuBackend, MatchesReferenceForBiasGradients) {
    for (const kernels::WeightAxes axes : {kernels::WeightAxes::in_out, kernels::WeightAxes::out_in}) {
        for (const std::size_t width : {6, 9}) {
            expect_same_on_gpu([&](GpuOperands& t) {
                return kernels::LinearBackwardWeight{.input = t.random(200, width),
                                                     .grad_output = t.random(200, width),
                                                     .grad_weight = t.wide_random(width, width),
                                                     .grad_bias = t.wide_random(1, width),
                                                     .axes = axes};
            });
        }
    }
}

TEST(GpuBackend, MatchesReferenceForColumnSums) {
    for_each_gpu_shape([](std::size_t rows, std::size_t columns) {
        expect_same_on_gpu([&](GpuOperands& t) {
            return kernels::ColumnSums{.input = t.random(rows, columns), .sums = t.wide_random(1, columns)};
        });
    });
}

TEST(GpuBackend, FusesOnlyTheActivationOfGpt2InBf16) {
    const device::Stream gpu = kernels::make_gpu_stream();
    EXPECT_TRUE(kernels::fuses_activation(gpu, device::DType::bf16, kernels::ActivationKind::gelu_tanh));
    EXPECT_FALSE(kernels::fuses_activation(gpu, device::DType::bf16, kernels::ActivationKind::gelu));
    EXPECT_FALSE(kernels::fuses_activation(gpu, device::DType::f32, kernels::ActivationKind::gelu_tanh));
    EXPECT_FALSE(kernels::fuses_activation(device::Stream{device::CpuStream{}}, device::DType::bf16,
                                           kernels::ActivationKind::gelu_tanh));
}

}  // namespace
}  // namespace trireme
