// Compares attention of the CPU backend with the reference: lengths around the borders of its blocks, padding,
// shared keys, dropout and views of one fused tensor.
#include "comparison.hpp"
#include "trireme/kernels/attention.hpp"

namespace trireme::kernels {
namespace {

struct Rows {
    std::size_t count;
    std::vector<Segment> segments;
};

const std::vector<Rows> layouts{
    {1, {{0, 1, 3}}},
    {2, {{0, 2, 3}}},
    {63, {{0, 63, 3}}},
    {64, {{0, 64, 3}}},
    {65, {{0, 65, 3}}},
    {130, {{0, 130, 3}}},
    {90, {{2, 66, 5}, {68, 1, 6}, {71, 17, 7}}},  // padding before, between and after
    {40, {{20, 15, 5}, {0, 9, 6}, {12, 0, 7}}},   // unordered, one of them empty
};

// Calls `test(rows, shape, head size)` until something fails. Every head size is tested with shared and with
// separate keys.
template <class Test>
void for_each_attention(std::span<const std::size_t> head_sizes, Test&& test) {
    struct Kind {
        bool is_causal, is_shared;
        double rate;
    };
    constexpr std::array<Kind, 4> kinds{
        {{true, false, 0}, {true, true, 0.3}, {false, true, 0}, {false, false, 0.3}}};
    for (const std::size_t head_size : head_sizes) {
        const std::size_t heads = head_size <= 32 ? 4 : 2;
        for (const Rows& rows : layouts) {
            for (const Kind& kind : kinds) {
                SCOPED_TRACE(cat("head size ", head_size, ", ", rows.count, " rows in ", rows.segments.size(),
                                 " segments, causal ", kind.is_causal, ", shared keys ", kind.is_shared,
                                 ", dropout ", kind.rate));
                test(rows.count,
                     AttentionShape{.segments = rows.segments,
                                    .heads = heads,
                                    .key_value_heads = kind.is_shared ? heads / 2 : heads,
                                    .scale = 1 / std::sqrt(static_cast<double>(head_size)),
                                    .is_causal = kind.is_causal,
                                    .dropout = {kind.rate, RandomKey{17}.then(4), 3}},
                     head_size);
                if (testing::Test::HasFailure()) return;
            }
        }
    }
}

// Query, key and value are column ranges of one tensor, as one matmul computes them.
Attention fused_attention(Operands& t, std::size_t rows, const AttentionShape& shape, std::size_t head_size) {
    const std::size_t own = shape.heads * head_size;
    const std::size_t shared = shape.key_value_heads * head_size;
    const device::Tensor fused = t.random(rows, own + 2 * shared);
    return {.query = fused.column_range(0, own),
            .key = fused.column_range(own, shared),
            .value = fused.column_range(own + shared, shared),
            .output = t.unwritten(rows, own),
            .log_sum = t.unwritten(rows, shape.heads),
            .shape = shape};
}

AttentionBackward fused_backward(Operands& t, std::size_t rows, const AttentionShape& shape,
                                 std::size_t head_size) {
    const Attention forward = fused_attention(t, rows, shape, head_size);
    run_reference(forward);
    const std::size_t own = shape.heads * head_size;
    const std::size_t shared = shape.key_value_heads * head_size;
    const device::Tensor fused = t.unwritten(rows, own + 2 * shared);
    return {.query = forward.query,
            .key = forward.key,
            .value = forward.value,
            .output = forward.output,
            .log_sum = forward.log_sum,
            .grad_output = t.random(rows, own),
            .grad_query = fused.column_range(0, own),
            .grad_key = fused.column_range(own, shared),
            .grad_value = fused.column_range(own + shared, shared),
            .shape = shape};
}

constexpr std::array<std::size_t, 3> small_heads{4, 8, 32};
constexpr std::array<std::size_t, 3> large_heads{64, 80, 128};

void expect_same_forward(std::size_t rows, const AttentionShape& shape, std::size_t head_size) {
    expect_same_on_cpu([&](Operands& t) { return fused_attention(t, rows, shape, head_size); });
}

void expect_same_backward(std::size_t rows, const AttentionShape& shape, std::size_t head_size) {
    expect_same_on_cpu([&](Operands& t) { return fused_backward(t, rows, shape, head_size); });
}

TEST(CpuAttention, MatchesReferenceForSmallHeads) { for_each_attention(small_heads, expect_same_forward); }
TEST(CpuAttention, MatchesReferenceForLargeHeads) { for_each_attention(large_heads, expect_same_forward); }
TEST(CpuAttentionBackward, MatchesReferenceForSmallHeads) {
    for_each_attention(small_heads, expect_same_backward);
}
TEST(CpuAttentionBackward, MatchesReferenceForLargeHeads) {
    for_each_attention(large_heads, expect_same_backward);
}

// Scores of several hundred, whose exponentials overflow. All scores are whole numbers, so that both backends
// have the same.
TEST(CpuAttention, HandlesScoresWhoseExponentialsOverflow) {
    const std::vector<Segment> one{{0, 70, 0}};
    expect_same_on_cpu([&](Operands& t) {
        const Attention op{t.random(70, 8),    t.random(70, 8),    t.random(70, 8),
                           t.unwritten(70, 8), t.unwritten(70, 1), {.segments = one, .scale = 4}};
        for (const std::size_t operand : {0, 1}) {
            for (std::size_t i = 0; i < 70 * 8; ++i) {
                const double whole = std::round(4 * get(t.all()[operand], i / 8, i % 8));
                set(t.all()[operand], i / 8, i % 8, whole);
            }
        }
        return op;
    });
}

}  // namespace
}  // namespace trireme::kernels
