// Compares the CPU backend with the reference, over shapes that fill no block evenly.
#include "comparison.hpp"
#include "trireme/kernels/activation.hpp"
#include "trireme/kernels/cross_entropy.hpp"
#include "trireme/kernels/dropout.hpp"
#include "trireme/kernels/embedding.hpp"
#include "trireme/kernels/fill.hpp"
#include "trireme/kernels/linear.hpp"
#include "trireme/kernels/norm.hpp"
#include "trireme/kernels/update.hpp"

namespace trireme::kernels {
namespace {

template <class Test>
void for_each_matmul(Test&& test) {
    for_each_shape([&](std::size_t rows, std::size_t in) {
        for (const std::size_t out : column_counts) {
            for (const WeightAxes axes : {WeightAxes::in_out, WeightAxes::out_in}) {
                SCOPED_TRACE(
                    cat(out, " outputs, weight ", axes == WeightAxes::in_out ? "in x out" : "out x in"));
                test(rows, in, out, axes);
                if (testing::Test::HasFailure()) return;
            }
        }
    });
}

device::Tensor random_weight(Operands& t, std::size_t in, std::size_t out, WeightAxes axes) {
    return axes == WeightAxes::in_out ? t.random(in, out) : t.random(out, in);
}

TEST(CpuBackend, MatchesReferenceForLinear) {
    for_each_matmul([](std::size_t rows, std::size_t in, std::size_t out, WeightAxes axes) {
        expect_same_on_cpu([&](Operands& t) {
            const device::ConstTensor bias = rows % 2 == 1 ? t.random(1, out) : device::ConstTensor{};
            return Linear{t.random(rows, in), random_weight(t, in, out, axes), bias, t.unwritten(rows, out),
                          axes};
        });
    });
}

TEST(CpuBackend, MatchesReferenceForLinearBackwardInput) {
    for_each_matmul([](std::size_t rows, std::size_t in, std::size_t out, WeightAxes axes) {
        for (const bool accumulate : {false, true}) {
            expect_same_on_cpu([&](Operands& t) {
                return LinearBackwardInput{t.random(rows, out), random_weight(t, in, out, axes),
                                           accumulate ? t.random(rows, in) : t.unwritten(rows, in), axes,
                                           accumulate};
            });
        }
    });
}

TEST(CpuBackend, MatchesReferenceForLinearBackwardWeight) {
    for_each_matmul([](std::size_t rows, std::size_t in, std::size_t out, WeightAxes axes) {
        expect_same_on_cpu([&](Operands& t) {
            const device::Tensor grad_bias = rows % 2 == 1 ? t.random(1, out) : device::Tensor{};
            return LinearBackwardWeight{t.random(rows, in), t.random(rows, out),
                                        random_weight(t, in, out, axes), grad_bias, axes};
        });
    });
}

TEST(CpuBackend, MatchesReferenceForLayerNorm) {
    for_each_shape([](std::size_t rows, std::size_t channels) {
        expect_same_on_cpu([&](Operands& t) {
            return LayerNorm{t.random(rows, channels),    t.random(1, channels), t.random(1, channels),
                             t.unwritten(rows, channels), t.unwritten(1, rows),  t.unwritten(1, rows)};
        });
    });
}

// Returns a norm of the next values in `t`, computed by the reference.
LayerNorm finished_norm(Operands& t, std::size_t rows, std::size_t channels) {
    const LayerNorm norm{t.random(rows, channels),    t.random(1, channels), t.random(1, channels),
                         t.unwritten(rows, channels), t.unwritten(1, rows),  t.unwritten(1, rows)};
    run_reference(norm);
    return norm;
}

TEST(CpuBackend, MatchesReferenceForLayerNormBackwardInput) {
    for_each_shape([](std::size_t rows, std::size_t channels) {
        if (channels == 1) return;  // the gradient is 0 except for rounding, times an inv_std of 316
        expect_same_on_cpu([&](Operands& t) {
            const LayerNorm norm = finished_norm(t, rows, channels);
            return LayerNormBackwardInput{norm.input,
                                          norm.gain,
                                          norm.mean,
                                          norm.inv_std,
                                          t.random(rows, channels),
                                          t.random(rows, channels),
                                          t.unwritten(rows, channels)};
        });
        expect_same_on_cpu([&](Operands& t) {  // overwrites the residual
            const LayerNorm norm = finished_norm(t, rows, channels);
            const device::Tensor both = t.random(rows, channels);
            return LayerNormBackwardInput{
                norm.input, norm.gain, norm.mean, norm.inv_std, t.random(rows, channels), both, both};
        });
        expect_same_on_cpu([&](Operands& t) {
            const LayerNorm norm = finished_norm(t, rows, channels);
            return LayerNormBackwardInput{.input = norm.input,
                                          .gain = norm.gain,
                                          .mean = norm.mean,
                                          .inv_std = norm.inv_std,
                                          .grad_output = t.random(rows, channels),
                                          .grad_input = t.unwritten(rows, channels)};
        });
    });
}

TEST(CpuBackend, MatchesReferenceForLayerNormBackwardWeight) {
    for_each_shape([](std::size_t rows, std::size_t channels) {
        expect_same_on_cpu([&](Operands& t) {
            const LayerNorm norm = finished_norm(t, rows, channels);
            return LayerNormBackwardWeight{
                norm.input,           norm.mean, norm.inv_std, t.random(rows, channels), t.random(1, channels),
                t.random(1, channels)};
        });
    });
}

Dropout dropout_of(Operands& t, std::size_t rows, double rate) {
    return {.rate = rate,
            .key = RandomKey{11}.then(2),
            .samples = t.indices(device::DType::i64, rows, 1000),
            .positions = t.indices(device::DType::i32, rows, 1000),
            .first_channel = rows};
}

TEST(CpuBackend, MatchesReferenceForResidualAdd) {
    for_each_shape([](std::size_t rows, std::size_t channels) {
        for (const double rate : {0.0, 0.3}) {
            expect_same_on_cpu([&](Operands& t) {
                return ResidualAdd{t.random(rows, channels), t.random(rows, channels),
                                   t.unwritten(rows, channels), dropout_of(t, rows, rate)};
            });
            expect_same_on_cpu([&](Operands& t) {
                return ResidualAdd{
                    {}, t.random(rows, channels), t.unwritten(rows, channels), dropout_of(t, rows, rate)};
            });
        }
    });
}

TEST(CpuBackend, MatchesReferenceForResidualAddInPlace) {
    for_each_shape([](std::size_t rows, std::size_t channels) {
        for (const double rate : {0.0, 0.3}) {
            expect_same_on_cpu([&](Operands& t) {
                const device::Tensor both = t.random(rows, channels);
                return ResidualAdd{both, t.random(rows, channels), both, dropout_of(t, rows, rate)};
            });
            expect_same_on_cpu([&](Operands& t) {
                const device::Tensor both = t.random(rows, channels);
                return ResidualAdd{t.random(rows, channels), both, both, dropout_of(t, rows, rate)};
            });
        }
    });
}

TEST(CpuBackend, MatchesReferenceForDropoutBackward) {
    for_each_shape([](std::size_t rows, std::size_t channels) {
        for (const double rate : {0.0, 0.3}) {
            expect_same_on_cpu([&](Operands& t) {
                return DropoutBackward{t.random(rows, channels), t.unwritten(rows, channels),
                                       dropout_of(t, rows, rate)};
            });
            expect_same_on_cpu([&](Operands& t) {
                const device::Tensor both = t.random(rows, channels);
                return DropoutBackward{both, both, dropout_of(t, rows, rate)};
            });
        }
    });
}

TEST(CpuBackend, MatchesReferenceForActivation) {
    for_each_shape([](std::size_t rows, std::size_t channels) {
        expect_same_on_cpu([&](Operands& t) {
            return Activation{t.random(rows, channels), t.unwritten(rows, channels)};
        });
        expect_same_on_cpu([&](Operands& t) {
            return ActivationBackward{t.random(rows, channels), t.random(rows, channels),
                                      t.unwritten(rows, channels)};
        });
        expect_same_on_cpu([&](Operands& t) {
            const device::Tensor both = t.random(rows, channels);
            return ActivationBackward{t.random(rows, channels), both, both};
        });
    });
}

// Inputs far into both ranges where the tanh saturates.
TEST(CpuBackend, MatchesReferenceForActivationOfAnyMagnitude) {
    std::vector<double> inputs;
    for (int i = -640; i <= 640; ++i) inputs.push_back(i / 8.0);
    const std::size_t count = inputs.size();

    expect_same_on_cpu([&](Operands& t) {
        return Activation{t.numbers(1, count, inputs), t.unwritten(1, count)};
    });
    expect_same_on_cpu([&](Operands& t) {
        return ActivationBackward{t.numbers(1, count, inputs), t.random(1, count), t.unwritten(1, count)};
    });
}

TEST(CpuBackend, MatchesReferenceForEmbedding) {
    for_each_shape([](std::size_t rows, std::size_t channels) {
        for (const bool has_positions : {true, false}) {
            expect_same_on_cpu([&](Operands& t) {
                const device::ConstTensor positions =
                    has_positions ? t.random(9, channels) : device::ConstTensor{};
                return Embedding{.tokens = t.indices(device::DType::i32, rows, 40),
                                 .positions = t.indices(device::DType::i32, rows, 9),
                                 .token_table = t.random(40, channels),
                                 .position_table = positions,
                                 .output = t.unwritten(rows, channels)};
            });
            expect_same_on_cpu([&](Operands& t) {
                const device::Tensor positions = has_positions ? t.random(9, channels) : device::Tensor{};
                return EmbeddingBackward{t.indices(device::DType::i32, rows, 40),
                                         t.indices(device::DType::i32, rows, 9), t.random(rows, channels),
                                         t.random(40, channels), positions};
            });
        }
    });
}

// Returns random targets; every fifth row has none.
device::Tensor some_targets(Operands& t, std::size_t rows, std::size_t vocabulary) {
    const device::Tensor targets = t.indices(device::DType::i32, rows, vocabulary);
    for (std::size_t r = 1; r < rows; r += 5) set(targets, 0, r, no_target);
    return targets;
}

TEST(CpuBackend, MatchesReferenceForCrossEntropy) {
    for_each_shape([](std::size_t rows, std::size_t vocabulary) {
        if (vocabulary == 1) return;  // with one word the loss is 0 except for rounding
        for (const double scale : {0.0, 3.0}) {
            expect_same_on_cpu([&](Operands& t) {
                return CrossEntropy{.logits = t.random(rows, vocabulary),
                                    .targets = some_targets(t, rows, vocabulary),
                                    .losses = t.unwritten_of(device::DType::f64, 1, rows),
                                    .gradient_scale = scale};
            });
        }
    });
}

TEST(CpuBackend, MatchesReferenceForCrossEntropyOfLargeLogits) {
    expect_same_on_cpu([](Operands& t) {
        const device::Tensor logits = t.random(9, 100);
        for (std::size_t i = 0; i < logits.size(); ++i) {
            // Multiples of 8 up to several hundred: all differences are exact, and exp() overflows for most.
            set(logits, i / 100, i % 100, 8 * std::round(16 * get(logits, i / 100, i % 100)));
        }
        return CrossEntropy{.logits = logits,
                            .targets = some_targets(t, 9, 100),
                            .losses = t.unwritten_of(device::DType::f64, 1, 9),
                            .gradient_scale = 3};
    });
}

TEST(CpuBackend, MatchesReferenceForFills) {
    for_each_shape([](std::size_t rows, std::size_t columns) {
        expect_same_on_cpu([&](Operands& t) { return Fill{t.unwritten(rows, columns), 0.1}; });
        expect_same_on_cpu([&](Operands& t) {
            return FillNormal{.output = t.unwritten(rows, columns),
                              .key = RandomKey{5}.then("h.0.mlp.c_fc.weight"),
                              .deviation = 0.02,
                              .first_element = 3 * rows,
                              .global_columns = columns + rows - 1};
        });
    });
}

TEST(CpuBackend, MatchesReferenceForUpdates) {
    for (const std::size_t size : {1, 7, 64, 1000, 4099}) {
        SCOPED_TRACE(cat(size, " elements"));
        expect_same_on_cpu([&](Operands& t) {
            const AdamWUpdate op{.parameter = t.random(1, size),
                                 .gradient = t.random(1, size),
                                 .moment1 = t.random(1, size),
                                 .moment2 = t.random(1, size),
                                 .gradient_scale = 0.25,
                                 .rate = 0.125,
                                 .weight_decay = 0.5,
                                 .step = 3};
            for (std::size_t i = 0; i < size; ++i)
                set(op.moment2, 0, i, std::abs(get(op.moment2, 0, i)) + 0.125);
            return op;
        });
        for (const bool has_velocity : {true, false}) {
            expect_same_on_cpu([&](Operands& t) {
                return SgdUpdate{.parameter = t.random(1, size),
                                 .gradient = t.random(1, size),
                                 .velocity = has_velocity ? t.random(1, size) : device::Tensor{},
                                 .gradient_scale = 0.25,
                                 .rate = 0.125,
                                 .momentum = has_velocity ? 0.75 : 0,
                                 .weight_decay = 0.5};
            });
        }
        expect_same_on_cpu([&](Operands& t) {
            return SumOfSquares{t.random(1, size), t.unwritten_of(device::DType::f64, 1, 1)};
        });
    }
}

TEST(CpuBackend, AddsSquaresInDoubleAndInAFixedOrder) {
    constexpr std::size_t size = 100'003;
    for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
        Operands t(dtype);
        const device::Tensor input = t.random(1, size);
        const SumOfSquares expected{input, t.unwritten_of(device::DType::f64, 1, 1)};
        run_reference(expected);
        std::vector<double> sums;
        for (const int threads : {1, 2, 3}) {
            device::Stream stream{device::CpuStream{threads}};
            const SumOfSquares op{input, t.unwritten_of(device::DType::f64, 1, 1)};
            launch(stream, op);
            sums.push_back(get(op.result, 0, 0));
        }

        EXPECT_NEAR(sums[0], get(expected.result, 0, 0), 1e-12 * sums[0]);
        EXPECT_EQ(sums[1], sums[0]);
        EXPECT_EQ(sums[2], sums[0]);
    }
}

TEST(CpuBackend, RejectsIndicesOutsideTheTable) {
    Operands t;
    device::Stream stream{device::CpuStream{}};
    const device::Tensor beyond = t.numbers_of(device::DType::i32, 1, 2, {0, 3});
    const device::Tensor losses = t.unwritten_of(device::DType::f64, 1, 2);

    EXPECT_THROW(launch(stream, Embedding{.tokens = beyond,
                                          .positions = beyond,
                                          .token_table = t.random(3, 2),
                                          .output = t.unwritten(2, 2)}),
                 BugError);
    EXPECT_THROW(launch(stream, EmbeddingBackward{beyond, beyond, t.random(2, 2), t.zeros(3, 2), {}}),
                 BugError);
    EXPECT_THROW(launch(stream, CrossEntropy{t.random(2, 3), beyond, losses, {}, 1}), BugError);
}

}  // namespace
}  // namespace trireme::kernels
