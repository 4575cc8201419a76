#include "trireme/kernels/update.hpp"

#include "gpu_comparison.hpp"

namespace trireme {
namespace {

using Numbers = std::vector<double>;

Tensor every_other_column(GpuOperands& t, std::size_t columns) {
    Numbers decays(columns);
    for (std::size_t c = 0; c < columns; c += 2) decays[c] = 1;
    return t.numbers_of(DType::i32, 1, columns, decays);
}

struct Extras {
    bool has_velocity = false;
    bool tells_columns_apart = false;
    bool has_rounded = false;
};

AdamWUpdate some_adamw(GpuOperands& t, std::size_t rows, std::size_t columns, const Extras& extras) {
    Numbers squares(rows * columns);
    for (std::size_t i = 0; i < squares.size(); ++i) squares[i] = 0.125 + 0.25 * static_cast<double>(i % 7);
    return {.parameter = t.wide_random(rows, columns),
            .gradient = t.wide_random(rows, columns),
            .moment1 = t.wide_random(rows, columns),
            .moment2 = t.numbers_of(t.wide(), rows, columns, squares),
            .gradient_scale = 0.25,
            .rate = 0.125,
            .weight_decay = 0.5,
            .step = 3,
            .decaying = extras.tells_columns_apart ? every_other_column(t, columns) : Tensor{},
            .rounded = extras.has_rounded ? t.unwritten_of(DType::bf16, rows, columns) : Tensor{}};
}

SgdUpdate some_sgd(GpuOperands& t, std::size_t rows, std::size_t columns, const Extras& extras) {
    return {.parameter = t.wide_random(rows, columns),
            .gradient = t.wide_random(rows, columns),
            .velocity = extras.has_velocity ? t.wide_random(rows, columns) : Tensor{},
            .gradient_scale = 0.25,
            .rate = 0.125,
            .momentum = extras.has_velocity ? 0.75 : 0,
            .weight_decay = 0.5,
            .decaying = extras.tells_columns_apart ? every_other_column(t, columns) : Tensor{},
            .rounded = extras.has_rounded ? t.unwritten_of(DType::bf16, rows, columns) : Tensor{}};
}

// A model that computes in 16 bits has parameters of 32, and what they are rounded to.
template <class Make>
void expect_same_updates(Make&& make) {
    for_each_gpu_shape([&](std::size_t rows, std::size_t columns) {
        Extras extras{.has_velocity = rows != 5, .tells_columns_apart = rows == 37};
        expect_same_on_gpu([&](GpuOperands& t) { return make(t, rows, columns, extras); },
                           {DType::f64, DType::f32});
        extras.has_rounded = true;
        expect_same_on_gpu([&](GpuOperands& t) { return make(t, rows, columns, extras); }, {DType::bf16});
    });
}

TEST(GpuBackend, AgreesOnAdamW) { expect_same_updates(some_adamw); }
TEST(GpuBackend, AgreesOnSgd) { expect_same_updates(some_sgd); }

TEST(GpuBackend, RoundsTheParameterThatItWrites) {
    for (const DType dtype : {DType::f32, DType::f64}) {
        for (const std::size_t gap : {0, 3}) {
            Stream stream = gpu_stream();
            GpuOperands t = GpuOperands::of_gpu(stream, dtype, gap);
            const AdamWUpdate adamw = some_adamw(t, 3, 20, {.has_rounded = true});
            const SgdUpdate sgd = some_sgd(t, 3, 20, {.has_velocity = true, .has_rounded = true});

            launch(stream, adamw);
            launch(stream, sgd);

            const std::vector<Tensor> results = t.results();
            for (const auto& [parameter, rounded] : {std::pair{0, 4}, std::pair{5, 8}}) {
                Numbers expected = values(results[static_cast<std::size_t>(parameter)]);
                for (double& number : expected) number = Bf16(static_cast<float>(number));
                EXPECT_EQ(values(results[static_cast<std::size_t>(rounded)]), expected);
            }
        }
    }
}

// Which columns decay is decided by who has no GPU.
TEST(GpuBackend, IsToldByTheHostWhichColumnsDecay) {
    Stream stream = gpu_stream();
    GpuOperands t = GpuOperands::of_gpu(stream, DType::f32, 0);
    SgdUpdate op{.parameter = t.numbers(2, 2, {4, 4, 8, 8}),
                 .gradient = t.numbers(2, 2, {1, 1, 1, 1}),
                 .rate = 0.25,
                 .weight_decay = 0.5};
    std::vector<std::int32_t> decaying{0, 1};
    op.decaying = {decaying.data(), DType::i32, 1, 2, 2};

    launch(stream, op);
    decaying = {1, 0};  // too late

    EXPECT_EQ(values(t.results()[0]), (Numbers{3.75, 3.25, 7.75, 6.75}));
}

TEST(GpuBackend, AgreesOnSumsOfSquares) {
    for (const std::size_t size : {1, 7, 4095, 4096, 9001}) {
        SCOPED_TRACE(cat(size, " elements"));
        expect_same_on_gpu([&](GpuOperands& t) {
            return SumOfSquares{t.wide_random(1, size), t.unwritten_of(DType::f64, 1, 1)};
        });
    }
    expect_same_on_gpu([](GpuOperands& t) {
        return SumOfSquares{t.random(70, 61), t.unwritten_of(DType::f64, 1, 1)};
    });
}

TEST(GpuBackend, AddsSquaresInOneOrderHoweverTheyLie) {
    constexpr std::size_t rows = 71;
    constexpr std::size_t columns = 60;
    std::vector<Numbers> sums;
    for (const std::size_t gap : {0, 1, 4}) {
        Stream stream = gpu_stream();
        GpuOperands t = GpuOperands::of_gpu(stream, DType::f32, gap);
        const SumOfSquares op{t.random(rows, columns), t.unwritten_of(DType::f64, 1, 1)};
        launch(stream, op);
        sums.push_back(values(t.results()[1]));
    }

    EXPECT_EQ(sums[1], sums[0]);
    EXPECT_EQ(sums[2], sums[0]);
}

TEST(GpuBackend, FindsNothingToUpdateInNothing) {
    Stream stream = gpu_stream();
    GpuOperands t = GpuOperands::of_gpu(stream, DType::f32, 0);

    launch(stream, some_adamw(t, 0, 5, {}));
    launch(stream, some_sgd(t, 3, 0, {.has_velocity = true}));
    launch(stream, SumOfSquares{t.random(0, 3), t.unwritten_of(DType::f64, 1, 1)});

    EXPECT_EQ(values(t.results().back()), Numbers{0});
}

}  // namespace
}  // namespace trireme
