// Attention on the GPU: lengths around the borders of tiles, padding, shared keys, dropout and views of one
// fused tensor.
#include "trireme/kernels/attention.hpp"

#include "gpu_comparison.hpp"

namespace trireme {
namespace {

struct Rows {
    std::size_t count;
    std::vector<kernels::Segment> segments;
};

const Rows one_row{1, {{0, 1, 3}}};
const Rows long_rows{130, {{0, 129, 3}}};
const Rows padded{90, {{2, 66, 5}, {68, 1, 6}, {71, 17, 7}}};    // padding before, between and after
const Rows unordered{40, {{20, 15, 5}, {0, 9, 6}, {12, 0, 7}}};  // the last one is empty
const std::vector<Rows> layouts{one_row, long_rows, padded, unordered};

struct Kind {
    bool is_causal, is_shared;
    double rate;
};
const std::vector<Kind> attention_kinds{
    {true, false, 0}, {true, true, 0.3}, {false, true, 0}, {false, false, 0.3}};

struct Case {
    const Rows& rows;
    const Kind& kind;
    std::size_t head_size;

    std::string name() const {
        return cat("head size ", head_size, ", ", rows.count, " rows in ", rows.segments.size(),
                   " segments, causal ", kind.is_causal, ", shared keys ", kind.is_shared, ", dropout ",
                   kind.rate);
    }
    kernels::AttentionShape shape() const {
        return {.segments = rows.segments,
                .heads = 2,
                .key_value_heads = kind.is_shared ? 1U : 2U,
                .scale = 1 / std::sqrt(static_cast<double>(head_size)),
                .is_causal = kind.is_causal,
                .dropout = {kind.rate, RandomKey{17}.then(4), 3}};
    }
};

// Tests every layout with every kind. Head sizes alternate, so that not all combinations of the three are
// tested.
template <class Test>
void for_each_case(const std::vector<std::size_t>& head_sizes, Test&& test) {
    std::size_t number = 0;
    for (std::size_t l = 0; l < layouts.size(); ++l) {
        for (const Kind& kind : attention_kinds) {
            const Case own{layouts[l], kind, head_sizes[(number++ + l) % head_sizes.size()]};
            SCOPED_TRACE(own.name());
            test(own);
            if (testing::Test::HasFailure()) return;
        }
    }
}

// Query, key and value are column ranges of one tensor, as one matmul computes them.
kernels::Attention fused_attention(GpuOperands& t, const Case& one) {
    const kernels::AttentionShape shape = one.shape();
    const std::size_t own = shape.heads * one.head_size;
    const std::size_t shared = shape.key_value_heads * one.head_size;
    const device::Tensor fused = t.random(one.rows.count, own + 2 * shared);
    return {.query = fused.column_range(0, own),
            .key = fused.column_range(own, shared),
            .value = fused.column_range(own + shared, shared),
            .output = t.unwritten(one.rows.count, own),
            .log_sum = t.wide_unwritten(one.rows.count, shape.heads),
            .shape = shape};
}

kernels::AttentionBackward fused_backward(GpuOperands& t, const Case& one) {
    const kernels::Attention forward = fused_attention(t, one);
    t.run(forward);
    const std::size_t own = forward.query.columns;
    const std::size_t shared = forward.key.columns;
    const device::Tensor fused = t.unwritten(one.rows.count, own + 2 * shared);
    return {.query = forward.query,
            .key = forward.key,
            .value = forward.value,
            .output = forward.output,
            .log_sum = forward.log_sum,
            .grad_output = t.random(one.rows.count, own),
            .grad_query = fused.column_range(0, own),
            .grad_key = fused.column_range(own, shared),
            .grad_value = fused.column_range(own + shared, shared),
            .shape = forward.shape};
}

const std::vector<device::DType> plain_types{device::DType::f64, device::DType::f32};

// Also compares the results of the forward pass, because the backward pass reads them.
TEST(GpuBackend, MatchesReferenceForAttention) {
    for_each_case({8, 20, 64, 70}, [](const Case& one) {
        expect_same_on_gpu([&](GpuOperands& t) { return fused_backward(t, one); }, plain_types);
    });
}

TEST(GpuBackend, MatchesReferenceForBf16AttentionWithoutTensorCores) {
    for_each_case({5, 20, 130}, [](const Case& one) {
        if (one.rows.count > 100) return;
        expect_same_on_gpu([&](GpuOperands& t) { return fused_backward(t, one); }, {device::DType::bf16});
    });
}

// Head sizes that tensor cores support, directly or padded.
TEST(GpuBackend, MatchesReferenceForTensorCoreAttention) {
    const std::vector<Case> cases{{one_row, attention_kinds[3], 128},  {long_rows, attention_kinds[0], 64},
                                  {long_rows, attention_kinds[1], 64}, {long_rows, attention_kinds[0], 128},
                                  {padded, attention_kinds[1], 128},   {padded, attention_kinds[2], 128},
                                  {padded, attention_kinds[2], 64},    {padded, attention_kinds[3], 128},
                                  {unordered, attention_kinds[0], 80}, {unordered, attention_kinds[3], 24}};
    for (const Case& one : cases) {
        SCOPED_TRACE(one.name());
        expect_same_on_gpu([&](GpuOperands& t) { return fused_backward(t, one); }, {device::DType::bf16});
        if (testing::Test::HasFailure()) return;
    }
}

// Small enough for NVIDIA's sanitizers, which check each access, but with several iterations of each kernel.
TEST(GpuBackend, MatchesReferenceForTensorCoreAttentionOverManyTiles) {
    const Rows several{200, {{0, 150, 3}, {150, 45, 4}}};
    for (const std::size_t head_size : {64, 128}) {
        for (const Kind& kind : {attention_kinds[0], attention_kinds[1]}) {
            const Case one{several, kind, head_size};
            SCOPED_TRACE(one.name());
            expect_same_on_gpu([&](GpuOperands& t) { return fused_backward(t, one); }, {device::DType::bf16});
        }
    }
}

// A head with more columns than a block can hold sums for.
TEST(GpuBackend, MatchesReferenceForAttentionWithLargeHeads) {
    for (const Kind& kind : attention_kinds) {
        const Case one{layouts.back(), kind, 150};
        expect_same_on_gpu([&](GpuOperands& t) { return fused_backward(t, one); }, plain_types);
    }
}

TEST(GpuBackend, MatchesReferenceForAttentionWithANegativeScale) {
    const Case one{layouts.back(), attention_kinds.front(), 8};
    expect_same_on_gpu([&](GpuOperands& t) {
        kernels::Attention op = fused_attention(t, one);
        op.shape.scale = -0.5;
        return op;
    });
}

TEST(GpuBackend, AcceptsAttentionWithoutRows) {
    const Rows none{0, {}};
    const Case one{none, attention_kinds.front(), 64};
    expect_same_on_gpu([&](GpuOperands& t) { return fused_backward(t, one); });
}

// Scores of several hundred, whose exponentials overflow. All scores are whole numbers, so that all backends
// have the same.
TEST(GpuBackend, AvoidsOverflowOfLargeAttentionScores) {
    const std::vector<kernels::Segment> one{{0, 70, 0}};
    const auto whole = [](GpuOperands& t, std::uint64_t name) {
        std::vector<double> numbers(70 * 8);
        for (std::size_t i = 0; i < numbers.size(); ++i)
            numbers[i] = static_cast<double>(random_block(RandomKey{name}, i)[0] % 17) - 8;
        return t.numbers(70, 8, numbers);
    };
    expect_same_on_gpu([&](GpuOperands& t) {
        return kernels::Attention{whole(t, 1),
                                  whole(t, 2),
                                  t.random(70, 8),
                                  t.unwritten(70, 8),
                                  t.wide_unwritten(70, 1),
                                  {.segments = one, .scale = 4}};
    });
}

// Later keys are longer, so that a row's largest score grows from tile to tile, in small to large steps.
TEST(GpuBackend, MatchesReferenceForAttentionWithGrowingScores) {
    const std::vector<kernels::Segment> one{{0, 200, 0}};
    for (const double growth : {0.02, 0.1, 2.0}) {
        for (const std::size_t head_size : {64U, 128U}) {
            SCOPED_TRACE(cat("growth ", growth, ", head size ", head_size));
            const auto growing = [&](GpuOperands& t) {
                std::vector<double> numbers(200 * head_size);
                for (std::size_t row = 0; row < 200; ++row)
                    numbers[row * head_size + row % head_size] = growth * static_cast<double>(row);
                return t.numbers(200, head_size, numbers);
            };
            const std::vector<double> ones(200 * head_size, 1);
            expect_same_on_gpu(
                [&](GpuOperands& t) {
                    return kernels::Attention{t.numbers(200, head_size, ones), growing(t),
                                              t.random(200, head_size),        t.unwritten(200, head_size),
                                              t.wide_unwritten(200, 1),        {.segments = one, .scale = 1}};
                },
                {device::DType::bf16});
        }
    }
}

}  // namespace
}  // namespace trireme
