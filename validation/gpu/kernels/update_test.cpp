#include "trireme/kernels/update.hpp"

#include "gpu_comparison.hpp"

namespace trireme {
namespace {

using Numbers = std::vector<double>;

device::Tensor every_other_column(GpuOperands& t, std::size_t columns) {
    Numbers decays(columns);
    for (std::size_t c = 0; c < columns; c += 2) decays[c] = 1;
    return t.numbers_of(device::DType::i32, 1, columns, decays);
}

struct Extras {
    bool has_velocity = false;
    bool has_decaying_columns = false;
    bool has_rounded = false;
};

kernels::AdamWUpdate some_adamw(GpuOperands& t, std::size_t rows, std::size_t columns, const Extras& extras) {
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
            .decay_mask = extras.has_decaying_columns ? every_other_column(t, columns) : device::Tensor{},
            .rounded_parameter =
                extras.has_rounded ? t.unwritten_of(device::DType::bf16, rows, columns) : device::Tensor{}};
}

kernels::SgdUpdate some_sgd(GpuOperands& t, std::size_t rows, std::size_t columns, const Extras& extras) {
    return {.parameter = t.wide_random(rows, columns),
            .gradient = t.wide_random(rows, columns),
            .velocity = extras.has_velocity ? t.wide_random(rows, columns) : device::Tensor{},
            .gradient_scale = 0.25,
            .rate = 0.125,
            .momentum = extras.has_velocity ? 0.75 : 0,
            .weight_decay = 0.5,
            .decay_mask = extras.has_decaying_columns ? every_other_column(t, columns) : device::Tensor{},
            .rounded_parameter =
                extras.has_rounded ? t.unwritten_of(device::DType::bf16, rows, columns) : device::Tensor{}};
}

// A model that computes in 16 bits has 32-bit parameters and rounded 16-bit copies.
template <class Make>
void expect_same_updates(Make&& make) {
    for_each_gpu_shape([&](std::size_t rows, std::size_t columns) {
        Extras extras{.has_velocity = rows != 5, .has_decaying_columns = rows == 37};
        expect_same_on_gpu([&](GpuOperands& t) { return make(t, rows, columns, extras); },
                           {device::DType::f64, device::DType::f32});
        extras.has_rounded = true;
        expect_same_on_gpu([&](GpuOperands& t) { return make(t, rows, columns, extras); },
                           {device::DType::bf16});
    });
}

TEST(GpuBackend, MatchesReferenceForAdamW) { expect_same_updates(some_adamw); }
TEST(GpuBackend, MatchesReferenceForSgd) { expect_same_updates(some_sgd); }

TEST(GpuBackend, WritesRoundedCopiesOfUpdatedParameters) {
    for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
        for (const std::size_t gap : {0, 3}) {
            device::Stream stream = kernels::make_gpu_stream();
            GpuOperands t = GpuOperands::of_gpu(stream, dtype, gap);
            const kernels::AdamWUpdate adamw = some_adamw(t, 3, 20, {.has_rounded = true});
            const kernels::SgdUpdate sgd = some_sgd(t, 3, 20, {.has_velocity = true, .has_rounded = true});

            launch(stream, adamw);
            launch(stream, sgd);

            const std::vector<device::Tensor> results = t.results();
            for (const auto& [parameter, rounded] : {std::pair{0, 4}, std::pair{5, 8}}) {
                Numbers expected = kernels::values(results[static_cast<std::size_t>(parameter)]);
                for (double& number : expected) number = device::Bf16(static_cast<float>(number));
                EXPECT_EQ(kernels::values(results[static_cast<std::size_t>(rounded)]), expected);
            }
        }
    }
}

// The list of decaying columns is in host memory and is read at the launch.
TEST(GpuBackend, ReadsDecayingColumnsFromHostMemoryAtLaunch) {
    device::Stream stream = kernels::make_gpu_stream();
    GpuOperands t = GpuOperands::of_gpu(stream, device::DType::f32, 0);
    kernels::SgdUpdate op{.parameter = t.numbers(2, 2, {4, 4, 8, 8}),
                          .gradient = t.numbers(2, 2, {1, 1, 1, 1}),
                          .rate = 0.25,
                          .weight_decay = 0.5};
    std::vector<std::int32_t> decaying{0, 1};
    op.decay_mask = {decaying.data(), device::DType::i32, 1, 2, 2};

    launch(stream, op);
    decaying = {1, 0};  // no effect after the launch

    EXPECT_EQ(kernels::values(t.results()[0]), (Numbers{3.75, 3.25, 7.75, 6.75}));
}

// Makes updates of short and long tensors, some of which decay fully, partly or not at all, like an
// optimizer's.
template <class Op, class Make>
std::vector<Op> make_many_shapes(GpuOperands& t, bool has_rounded, Make&& make) {
    std::vector<Op> ops;
    for (const auto& [rows, columns] :
         {std::pair<std::size_t, std::size_t>{1, 3}, {70, 61}, {0, 5}, {64, 132}, {1, 9001}, {3, 8}}) {
        const Extras extras{
            .has_velocity = true, .has_decaying_columns = rows == 70, .has_rounded = has_rounded};
        ops.push_back(make(t, rows, columns, extras));
        if (rows == 64) ops.back().weight_decay = 0;
    }
    return ops;
}

template <class Op, class Make>
void expect_same_of_many(Make&& make) {
    for (const device::DType dtype : {device::DType::f64, device::DType::f32, device::DType::bf16}) {
        const bool has_rounded = dtype == device::DType::bf16;
        GpuOperands expected = GpuOperands::for_reference(dtype);
        for (const Op& op : make_many_shapes<Op>(expected, has_rounded, make)) kernels::run_reference(op);
        for (const std::size_t gap : {0, 8}) {
            SCOPED_TRACE(cat(to_string(dtype), ", gaps of ", gap));
            device::Stream stream = kernels::make_gpu_stream();
            GpuOperands got = GpuOperands::of_gpu(stream, dtype, gap);
            kernels::launch_each(stream, make_many_shapes<Op>(got, has_rounded, make));
            expect_close(got, expected, gpu_tolerance(dtype));
            GpuOperands one_by_one = GpuOperands::of_gpu(stream, dtype, gap);
            for (const Op& op : make_many_shapes<Op>(one_by_one, has_rounded, make))
                kernels::launch(stream, op);
            expect_same_bits(got, one_by_one);
        }
    }
}

TEST(GpuBackend, UpdatesManyTensorsExactlyLikeSingleOnes) {
    expect_same_of_many<kernels::AdamWUpdate>(some_adamw);
    expect_same_of_many<kernels::SgdUpdate>(some_sgd);
}

// More lists than the buffer can hold at once.
TEST(GpuBackend, AppliesDecayToTheRightColumnsOfManyTensors) {
    constexpr std::size_t columns = 6000;
    device::Stream stream = kernels::make_gpu_stream();
    GpuOperands t = GpuOperands::of_gpu(stream, device::DType::f32, 0);
    std::vector<std::vector<std::int32_t>> decaying;
    std::vector<kernels::SgdUpdate> ops;
    for (std::int32_t i = 0; i < 20; ++i) {
        const auto& own = decaying.emplace_back(columns, i % 2);
        ops.push_back({.parameter = t.numbers(1, columns, Numbers(columns, 8)),
                       .gradient = t.zeros(1, columns),
                       .rate = 0.5,
                       .weight_decay = 0.5,
                       .decay_mask = {own.data(), device::DType::i32, 1, columns, columns}});
    }

    launch_each(stream, ops);

    const std::vector<device::Tensor> results = t.results();
    for (std::size_t i = 0; i < ops.size(); ++i)
        EXPECT_EQ(kernels::values(results[2 * i]), Numbers(columns, i % 2 == 1 ? 6 : 8)) << i;
}

TEST(GpuBackend, RejectsJointUpdatesWithDifferentSteps) {
    device::Stream stream = kernels::make_gpu_stream();
    GpuOperands t = GpuOperands::of_gpu(stream, device::DType::f32, 0);
    std::vector<kernels::AdamWUpdate> ops{some_adamw(t, 2, 3, {}), some_adamw(t, 2, 3, {})};
    ops.back().step = 4;

    EXPECT_THROW(launch_each(stream, ops), BugError);
}

TEST(GpuBackend, CountsOneCallForManyTensors) {
    device::Stream stream = kernels::make_gpu_stream();
    GpuOperands t = GpuOperands::of_gpu(stream, device::DType::f32, 0);
    const std::vector<kernels::SumOfSquares> ops{{t.random(3, 5), t.unwritten_of(device::DType::f64, 1, 1)},
                                                 {t.random(7, 5), t.unwritten_of(device::DType::f64, 1, 1)}};

    launch_each(stream, ops);
    stream.synchronize();

    ASSERT_EQ(stream.ledger.entries().size(), 1U);
    EXPECT_EQ(stream.ledger.entries()[0].calls, 1U);
    EXPECT_EQ(stream.ledger.entries()[0].total_cost.bytes, ops[0].cost().bytes + ops[1].cost().bytes);
}

TEST(GpuBackend, SumsSquaresOfManyTensorsExactlyLikeSingleOnes) {
    const auto make = [](GpuOperands& t) {
        std::vector<kernels::SumOfSquares> ops;
        for (const std::size_t size : {9001, 1, 0, 4096, 70})
            ops.push_back({t.wide_random(1, size), t.unwritten_of(device::DType::f64, 1, 1)});
        ops.push_back({t.wide_random(71, 60), t.unwritten_of(device::DType::f64, 1, 1)});
        return ops;
    };
    for (const device::DType dtype : {device::DType::f64, device::DType::f32, device::DType::bf16}) {
        GpuOperands expected = GpuOperands::for_reference(dtype);
        for (const kernels::SumOfSquares& op : make(expected)) run_reference(op);
        device::Stream stream = kernels::make_gpu_stream();
        GpuOperands got = GpuOperands::of_gpu(stream, dtype, 3);
        launch_each(stream, make(got));
        expect_close(got, expected, gpu_tolerance(accumulator_type(dtype)));
        GpuOperands one_by_one = GpuOperands::of_gpu(stream, dtype, 3);
        for (const kernels::SumOfSquares& op : make(one_by_one)) launch(stream, op);
        expect_same_bits(got, one_by_one);
    }
}

TEST(GpuBackend, MatchesReferenceForSumsOfSquares) {
    for (const std::size_t size : {1, 7, 4095, 4096, 9001}) {
        SCOPED_TRACE(cat(size, " elements"));
        expect_same_on_gpu([&](GpuOperands& t) {
            return kernels::SumOfSquares{t.wide_random(1, size), t.unwritten_of(device::DType::f64, 1, 1)};
        });
    }
    expect_same_on_gpu([](GpuOperands& t) {
        return kernels::SumOfSquares{t.random(70, 61), t.unwritten_of(device::DType::f64, 1, 1)};
    });
}

TEST(GpuBackend, SumsSquaresIndependentlyOfTheRowStride) {
    constexpr std::size_t rows = 71;
    constexpr std::size_t columns = 60;
    std::vector<Numbers> sums;
    for (const std::size_t gap : {0, 1, 4}) {
        device::Stream stream = kernels::make_gpu_stream();
        GpuOperands t = GpuOperands::of_gpu(stream, device::DType::f32, gap);
        const kernels::SumOfSquares op{t.random(rows, columns), t.unwritten_of(device::DType::f64, 1, 1)};
        launch(stream, op);
        sums.push_back(kernels::values(t.results()[1]));
    }

    EXPECT_EQ(sums[1], sums[0]);
    EXPECT_EQ(sums[2], sums[0]);
}

TEST(GpuBackend, AcceptsUpdatesOfEmptyTensors) {
    device::Stream stream = kernels::make_gpu_stream();
    GpuOperands t = GpuOperands::of_gpu(stream, device::DType::f32, 0);

    launch(stream, some_adamw(t, 0, 5, {}));
    launch(stream, some_sgd(t, 3, 0, {.has_velocity = true}));
    launch(stream, kernels::SumOfSquares{t.random(0, 3), t.unwritten_of(device::DType::f64, 1, 1)});

    EXPECT_EQ(kernels::values(t.results().back()), Numbers{0});
}

}  // namespace
}  // namespace trireme
