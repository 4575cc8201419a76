#include "trireme/kernels/linear.hpp"

#include "gpu_comparison.hpp"

namespace trireme {
namespace {

template <class Test>
void for_each_product(Test&& test) {
    for (const std::size_t rows : {1, 17, 63}) {
        for (const std::size_t in : {5, 64}) {
            for (const std::size_t out : {3, 100}) {
                for (const WeightAxes axes : {WeightAxes::in_out, WeightAxes::out_in}) {
                    SCOPED_TRACE(cat(rows, " rows, ", in, " inputs, ", out, " outputs, weight ",
                                     axes == WeightAxes::in_out ? "in x out" : "out x in"));
                    test(rows, in, out, axes);
                    if (testing::Test::HasFailure()) return;
                }
            }
        }
    }
}

// None, one, or one on an address that libraries do not take.
ConstTensor random_bias(GpuOperands& t, std::size_t out, std::size_t which) {
    if (which == 0) return {};
    return which == 1 ? t.random(1, out) : t.random(1, out + 1).column_range(1, out);
}

Tensor random_weight(GpuOperands& t, std::size_t in, std::size_t out, WeightAxes axes) {
    return axes == WeightAxes::in_out ? t.random(in, out) : t.random(out, in);
}

TEST(GpuBackend, AgreesOnLinear) {
    for_each_product([](std::size_t rows, std::size_t in, std::size_t out, WeightAxes axes) {
        expect_same_on_gpu([&](GpuOperands& t) {
            return Linear{t.random(rows, in), random_weight(t, in, out, axes), random_bias(t, out, rows % 3),
                          t.unwritten(rows, out), axes};
        });
    });
}

TEST(GpuBackend, AgreesOnLinearBackwardInput) {
    for_each_product([](std::size_t rows, std::size_t in, std::size_t out, WeightAxes axes) {
        for (const bool accumulate : {false, true}) {
            expect_same_on_gpu([&](GpuOperands& t) {
                return LinearBackwardInput{t.random(rows, out), random_weight(t, in, out, axes),
                                           accumulate ? t.random(rows, in) : t.unwritten(rows, in), axes,
                                           accumulate};
            });
        }
    });
}

TEST(GpuBackend, AgreesOnLinearBackwardWeight) {
    for_each_product([](std::size_t rows, std::size_t in, std::size_t out, WeightAxes axes) {
        expect_same_on_gpu([&](GpuOperands& t) {
            const Tensor grad_bias = rows % 2 == 1 ? t.wide_random(1, out) : Tensor{};
            const Tensor grad_weight =
                axes == WeightAxes::in_out ? t.wide_random(in, out) : t.wide_random(out, in);
            return LinearBackwardWeight{t.random(rows, in), t.random(rows, out), grad_weight, grad_bias, axes};
        });
    });
}

// Sides that are no multiples of 8, in rows that begin at whole vectors: GPT-2's logits.
TEST(GpuBackend, AgreesOnProductsThatItMakesAsTwo) {
    constexpr std::size_t ragged = 101, whole = 104;
    const auto of_logits = [](Tensor rows) { return rows.column_range(0, ragged); };
    for (const bool accumulate : {false, true}) {
        expect_same_on_gpu([&](GpuOperands& t) {
            return LinearBackwardInput{of_logits(t.random(17, whole)), t.random(ragged, 24),
                                       accumulate ? t.random(17, 24) : t.unwritten(17, 24), WeightAxes::out_in,
                                       accumulate};
        });
    }
    for (const bool has_bias : {false, true}) {
        expect_same_on_gpu([&](GpuOperands& t) {
            return Linear{t.random(17, 24), t.random(ragged, 24), has_bias ? t.random(1, ragged) : Tensor{},
                          of_logits(t.unwritten(17, whole)), WeightAxes::out_in};
        });
    }
    for (const WeightAxes axes : {WeightAxes::in_out, WeightAxes::out_in}) {
        expect_same_on_gpu([&](GpuOperands& t) {
            return LinearBackwardWeight{of_logits(t.random(17, whole)), of_logits(t.random(17, whole)),
                                        of_logits(t.wide_random(ragged, whole)), Tensor{}, axes};
        });
    }
}

// As a half of the memory of something: on rows of 8 elements that a library takes, or others. Every
// activation, though a library has but one.
template <class Test>
void for_each_activation(Test&& test) {
    for (const ActivationKind kind : {ActivationKind::gelu_tanh, ActivationKind::gelu, ActivationKind::tanh}) {
        for (const std::size_t width : {64, 100}) {
            for (const WeightAxes axes : {WeightAxes::in_out, WeightAxes::out_in}) {
                for (const bool has_bias : {true, false}) test(kind, width, axes, has_bias);
            }
        }
    }
}

TEST(GpuBackend, AgreesOnActivationsBesideProducts) {
    for_each_activation([](ActivationKind kind, std::size_t width, WeightAxes axes, bool has_bias) {
        expect_same_on_gpu([&](GpuOperands& t) {
            return Linear{.input = t.random(17, 12),
                          .weight = random_weight(t, 12, width, axes),
                          .bias = has_bias ? t.random(1, width) : Tensor{},
                          .output = t.unwritten(17, width),
                          .axes = axes,
                          .activated = t.unwritten(17, width),
                          .activation = kind};
        });
    });
}

TEST(GpuBackend, AgreesOnGradientsThroughActivationsBesideProducts) {
    for_each_activation([](ActivationKind kind, std::size_t width, WeightAxes axes, bool) {
        expect_same_on_gpu([&](GpuOperands& t) {
            return LinearBackwardInput{.grad_output = t.random(17, 12),
                                       .weight = random_weight(t, width, 12, axes),
                                       .grad_input = t.unwritten(17, width),
                                       .axes = axes,
                                       .activated_from = t.random(17, width),
                                       .activation = kind};
        });
    });
}

// Of many rows, so that sums are of several parts.
TEST(GpuBackend, AgreesOnGradientsOfBiases) {
    for (const WeightAxes axes : {WeightAxes::in_out, WeightAxes::out_in}) {
        for (const std::size_t width : {6, 9}) {
            expect_same_on_gpu([&](GpuOperands& t) {
                return LinearBackwardWeight{.input = t.random(200, width),
                                            .grad_output = t.random(200, width),
                                            .grad_weight = t.wide_random(width, width),
                                            .grad_bias = t.wide_random(1, width),
                                            .axes = axes};
            });
        }
    }
}

TEST(GpuBackend, AgreesOnColumnSums) {
    for_each_gpu_shape([](std::size_t rows, std::size_t columns) {
        expect_same_on_gpu([&](GpuOperands& t) {
            return ColumnSums{.input = t.random(rows, columns), .sums = t.wide_random(1, columns)};
        });
    });
}

TEST(GpuBackend, JoinsNothingButGpt2sActivationInSixteenBits) {
    const Stream gpu = gpu_stream();
    EXPECT_TRUE(joins_activation(gpu, DType::bf16, ActivationKind::gelu_tanh));
    EXPECT_FALSE(joins_activation(gpu, DType::bf16, ActivationKind::gelu));
    EXPECT_FALSE(joins_activation(gpu, DType::f32, ActivationKind::gelu_tanh));
    EXPECT_FALSE(joins_activation(Stream{CpuStream{}}, DType::bf16, ActivationKind::gelu_tanh));
}

}  // namespace
}  // namespace trireme
