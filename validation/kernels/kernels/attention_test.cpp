#include "trireme/kernels/attention.hpp"

#include "oracle.hpp"
#include "trireme/kernels/dropout.hpp"

namespace trireme::kernels {
namespace {

using Numbers = std::vector<double>;

// A forward and a backward pass over random queries, keys and values.
struct Passes {
    Passes(Operands& t, const AttentionShape& shape, std::size_t rows, std::size_t head_size)
        : query(t.random(rows, shape.heads * head_size)),
          key(t.random(rows, shape.key_value_heads * head_size)),
          value(t.random(rows, shape.key_value_heads * head_size)),
          grad_output(t.random(rows, shape.heads * head_size)) {
        const auto like = [&](const device::Tensor& tensor) {
            return t.unwritten(tensor.rows, tensor.columns);
        };
        forward = {query, key, value, like(query), t.unwritten(rows, shape.heads), shape};
        back = {query,       key,         value,     forward.output, forward.log_sum,
                grad_output, like(query), like(key), like(value),    shape};
    }
    double loss() const {
        run_reference(forward);
        return dot(forward.output, grad_output);
    }

    device::Tensor query, key, value, grad_output;
    Attention forward;
    AttentionBackward back;
};

void expect_gradients(const Passes& passes) {
    const auto loss = [&] { return passes.loss(); };
    run_reference(passes.forward);
    run_reference(passes.back);
    expect_gradient("query", passes.back.grad_query, passes.query, loss);
    expect_gradient("key", passes.back.grad_key, passes.key, loss);
    expect_gradient("value", passes.back.grad_value, passes.value, loss);
}

// Two segments with padding before, between and after them.
constexpr std::array<Segment, 2> packed{Segment{1, 4, 70}, Segment{6, 3, 71}};
constexpr std::size_t packed_rows = 11;
constexpr AttentionDropout dropout{.rate = 0.25, .key = RandomKey{5}.then(3), .first_head = 2};

TEST(Attention, AveragesValuesUpToEachRowForEqualScores) {
    for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
        const std::vector<Segment> one{{0, 4, 0}};
        Operands t(dtype, 3);
        const Attention op{.query = t.zeros(4, 1),
                           .key = t.random(4, 1),
                           .value = t.numbers(4, 1, {8, 4, 9, 3}),
                           .output = t.unwritten(4, 1),
                           .log_sum = t.unwritten(4, 1),
                           .shape = {.segments = one}};

        run_reference(op);

        const Numbers expected{8, 6, 7, 6};
        for (std::size_t r = 0; r < 4; ++r) {
            EXPECT_FLOAT_EQ(static_cast<float>(get(op.output, r, 0)), static_cast<float>(expected[r]));
            EXPECT_FLOAT_EQ(static_cast<float>(get(op.log_sum, r, 0)), std::log(static_cast<float>(r + 1)));
        }
        EXPECT_TRUE(t.has_clean_gaps());
    }
}

TEST(Attention, AveragesAllValuesForEqualScoresWithoutCausalMask) {
    const std::vector<Segment> one{{0, 2, 0}};
    Operands t;
    const Attention op{t.zeros(2, 1),     t.random(2, 1),    t.numbers(2, 1, {8, 4}),
                       t.unwritten(2, 1), t.unwritten(2, 1), {.segments = one, .is_causal = false}};

    run_reference(op);

    EXPECT_DOUBLE_EQ(get(op.output, 0, 0), 6);
    EXPECT_DOUBLE_EQ(get(op.output, 1, 0), 6);
}

// Scores of 0 and log 3 give the second value three times the weight of the first.
TEST(Attention, WeighsValuesByTheExponentialsOfScaledScores) {
    const std::vector<Segment> one{{0, 2, 0}};
    Operands t;
    const Attention op{t.numbers(2, 2, {0, 0, 2, 0}),
                       t.numbers(2, 2, {0, 5, std::log(3.0), 7}),
                       t.numbers(2, 2, {4, 0, 8, 100}),
                       t.unwritten(2, 2),
                       t.unwritten(2, 1),
                       {.segments = one, .scale = 0.5}};

    run_reference(op);

    EXPECT_EQ(values(op.output.row_range(0, 1)), (Numbers{4, 0}));
    EXPECT_DOUBLE_EQ(get(op.output, 1, 0), 7);
    EXPECT_DOUBLE_EQ(get(op.output, 1, 1), 75);
    EXPECT_DOUBLE_EQ(get(op.log_sum, 1, 0), std::log(4.0));
}

TEST(Attention, ComputesEachPackedSegmentIndependently) {
    for (const bool is_causal : {true, false}) {
        Operands t;
        const AttentionShape shape{packed, 4, 2, 0.7, is_causal, dropout};
        const Passes together(t, shape, packed_rows, 3);
        run_reference(together.forward);

        for (const Segment& segment : packed) {
            const std::vector<Segment> single_segment{{0, segment.length, segment.sample}};
            Attention op = together.forward;
            op.shape.segments = single_segment;
            op.query = together.query.row_range(segment.begin, segment.length);
            op.key = together.key.row_range(segment.begin, segment.length);
            op.value = together.value.row_range(segment.begin, segment.length);
            op.output = t.unwritten(segment.length, 12);
            op.log_sum = t.unwritten(segment.length, 4);
            run_reference(op);

            const auto same_rows = [&](const device::Tensor& tensor) {
                return values(tensor.row_range(segment.begin, segment.length));
            };
            EXPECT_EQ(values(op.output), same_rows(together.forward.output));
            EXPECT_EQ(values(op.log_sum), same_rows(together.forward.log_sum));
        }
    }
}

TEST(Attention, IsZeroForPaddingRows) {
    Operands t;
    const Passes passes(t, {packed, 4, 2, 0.7, true, dropout}, packed_rows, 3);

    run_reference(passes.forward);
    run_reference(passes.back);

    for (const std::size_t r : {0, 5, 9, 10}) {
        for (const device::Tensor& result :
             {passes.forward.output, passes.forward.log_sum, passes.back.grad_query, passes.back.grad_key,
              passes.back.grad_value}) {
            EXPECT_EQ(values(result.row_range(r, 1)), Numbers(result.columns, 0)) << "row " << r;
        }
    }
}

TEST(Attention, UsesTheKeysAndValuesOfEachHeadsGroup) {
    constexpr std::size_t head_size = 3;
    const std::vector<Segment> one{{0, 5, 0}};
    Operands t;
    const Passes grouped(t, {.segments = one, .heads = 4, .key_value_heads = 2}, 5, head_size);
    run_reference(grouped.forward);

    for (std::size_t head = 0; head < 4; ++head) {
        Attention op = grouped.forward;
        op.shape.heads = op.shape.key_value_heads = 1;
        op.query = grouped.query.column_range(head * head_size, head_size);
        op.key = grouped.key.column_range(head / 2 * head_size, head_size);
        op.value = grouped.value.column_range(head / 2 * head_size, head_size);
        op.output = t.unwritten(5, head_size);
        op.log_sum = t.unwritten(5, 1);
        run_reference(op);

        EXPECT_EQ(values(op.output), values(grouped.forward.output.column_range(head * head_size, head_size)));
    }
}

// With values of 1 and equal scores, an output counts the kept weights.
TEST(Attention, DropsWhereTheRandomWordIsBelowTheRate) {
    constexpr std::size_t length = 7;
    const std::vector<Segment> second{{1, length, 42}};
    Operands t;
    const Attention op{t.zeros(8, 2),     t.random(8, 2),    t.numbers(8, 2, Numbers(16, 1)),
                       t.unwritten(8, 2), t.unwritten(8, 2), {second, 2, 2, 1, false, dropout}};

    run_reference(op);

    for (std::uint32_t head = 0; head < 2; ++head) {
        for (std::uint32_t query = 0; query < length; ++query) {
            double kept = 0;
            for (std::uint32_t key = 0; key < length; ++key) {
                const RandomBlock words =
                    random_block(dropout.key.then(std::uint64_t{42}), {key / 4, query, 2 + head, 1});
                kept += words[key % 4] >= 0x40000000U;
            }
            EXPECT_NEAR(get(op.output, 1 + query, head), kept / 0.75 / length, 1e-14);
        }
    }
}

TEST(AttentionBackward, MatchesFiniteDifferences) {
    for (const bool is_causal : {true, false}) {
        for (const AttentionDropout& choice : {AttentionDropout{}, dropout}) {
            SCOPED_TRACE(cat("causal ", is_causal, ", dropout ", choice.rate));
            Operands t;
            expect_gradients(Passes(t, {packed, 4, 2, 0.7, is_causal, choice}, packed_rows, 3));
        }
    }
}

TEST(Attention, RejectsMismatchedShapes) {
    Operands t;
    const Passes good(t, {.segments = packed, .heads = 4, .key_value_heads = 2}, packed_rows, 3);
    Attention three_groups = good.forward;
    three_groups.shape.key_value_heads = 3;
    Attention narrow_key = good.forward;
    narrow_key.key = t.random(packed_rows, 5);
    Attention wide_log_sum = good.forward;
    wide_log_sum.log_sum = t.unwritten(packed_rows, 5);
    AttentionBackward odd_heads = good.back;
    odd_heads.shape.heads = odd_heads.shape.key_value_heads = 5;
    AttentionBackward narrow_gradient = good.back;
    narrow_gradient.grad_value = t.unwritten(packed_rows, 5);

    EXPECT_NO_THROW(good.forward.check());
    EXPECT_NO_THROW(good.back.check());
    EXPECT_EQ(refusal(three_groups), "attention: 4 heads cannot be divided evenly into 3 groups");
    EXPECT_EQ(refusal(narrow_key), "attention: key is f64 11 x 5, not f64 11 x 6");
    EXPECT_EQ(refusal(wide_log_sum), "attention: log_sum is f64 11 x 5, not f64 11 x 4");
    EXPECT_EQ(refusal(odd_heads), "attention_backward: 12 columns of query cannot be cut into 5 heads");
    EXPECT_EQ(refusal(narrow_gradient), "attention_backward: grad_value is f64 11 x 5, not f64 11 x 6");
}

TEST(Attention, RejectsOverlappingOrOutOfRangeSegments) {
    const std::vector<Segment> beyond{{0, 3, 0}, {8, 4, 1}};
    const std::vector<Segment> overlapping{{5, 3, 0}, {2, 4, 1}};
    Operands t;
    Passes passes(t, {.segments = beyond}, packed_rows, 3);

    EXPECT_EQ(refusal(passes.forward), "attention: a segment of 4 rows from row 8 does not fit into 11 rows");
    passes.back.shape.segments = overlapping;
    EXPECT_EQ(refusal(passes.back),
              "attention_backward: the segment from row 5 begins before the previous segment ends at row 6");
}

TEST(Attention, CountsFlopsOfUnmaskedPairsOnly) {
    Operands t(device::DType::f32);
    const Passes causal(t, {.segments = packed, .heads = 4, .key_value_heads = 2}, packed_rows, 3);
    Passes both_ways = causal;
    both_ways.forward.shape.is_causal = false;

    // There are 10 + 6 or 16 + 9 pairs in each of 4 heads of 3 channels.
    EXPECT_EQ(causal.forward.cost().flops, 2 * 2 * (10 + 6) * 12);
    EXPECT_EQ(causal.back.cost().flops, 5 * 2 * (10 + 6) * 12);
    EXPECT_EQ(both_ways.forward.cost().flops, 2 * 2 * (16 + 9) * 12);
    EXPECT_EQ(causal.forward.cost().bytes, 4 * 11 * (12 + 6 + 6 + 12 + 4));
    EXPECT_EQ(causal.back.cost().bytes, 4 * 11 * (12 + 6 + 6 + 12 + 4 + 12 + 12 + 6 + 6));
}

}  // namespace
}  // namespace trireme::kernels
