// Tests that a value check sees a kernel, and that every operation names all of its tensors.
#include "trireme/kernels/value_check.hpp"

#include <algorithm>
#include <tuple>

#include "operands.hpp"
#include "oracle.hpp"
#include "trireme/kernels/activation.hpp"
#include "trireme/kernels/attention.hpp"
#include "trireme/kernels/columns.hpp"
#include "trireme/kernels/cross_entropy.hpp"
#include "trireme/kernels/dropout.hpp"
#include "trireme/kernels/embedding.hpp"
#include "trireme/kernels/fill.hpp"
#include "trireme/kernels/image_rows.hpp"
#include "trireme/kernels/linear.hpp"
#include "trireme/kernels/logit_statistics.hpp"
#include "trireme/kernels/norm.hpp"
#include "trireme/kernels/rotary.hpp"
#include "trireme/kernels/rows.hpp"
#include "trireme/kernels/span_loss.hpp"
#include "trireme/kernels/update.hpp"

namespace trireme::kernels {
namespace {

// Converts to the type of any field.
struct AnyField {
    template <class T>
    operator T() const {
        return T{};
    }
};

template <class Op, class... Fields>
constexpr std::size_t count_fields() {
    if constexpr (requires { Op{Fields{}..., AnyField{}}; }) {
        return count_fields<Op, Fields..., AnyField>();
    } else {
        return sizeof...(Fields);
    }
}

// Returns references to all fields of an operation.
template <class Op>
auto list_fields(Op& op) {
    constexpr std::size_t count = count_fields<Op>();
    static_assert(count >= 2 && count <= 13, "an operation has an unsupported number of fields");
    if constexpr (count == 2) {
        auto& [a, b] = op;
        return std::tie(a, b);
    } else if constexpr (count == 3) {
        auto& [a, b, c] = op;
        return std::tie(a, b, c);
    } else if constexpr (count == 4) {
        auto& [a, b, c, d] = op;
        return std::tie(a, b, c, d);
    } else if constexpr (count == 5) {
        auto& [a, b, c, d, e] = op;
        return std::tie(a, b, c, d, e);
    } else if constexpr (count == 6) {
        auto& [a, b, c, d, e, f] = op;
        return std::tie(a, b, c, d, e, f);
    } else if constexpr (count == 7) {
        auto& [a, b, c, d, e, f, g] = op;
        return std::tie(a, b, c, d, e, f, g);
    } else if constexpr (count == 8) {
        auto& [a, b, c, d, e, f, g, h] = op;
        return std::tie(a, b, c, d, e, f, g, h);
    } else if constexpr (count == 9) {
        auto& [a, b, c, d, e, f, g, h, i] = op;
        return std::tie(a, b, c, d, e, f, g, h, i);
    } else if constexpr (count == 10) {
        auto& [a, b, c, d, e, f, g, h, i, j] = op;
        return std::tie(a, b, c, d, e, f, g, h, i, j);
    } else if constexpr (count == 11) {
        auto& [a, b, c, d, e, f, g, h, i, j, k] = op;
        return std::tie(a, b, c, d, e, f, g, h, i, j, k);
    } else if constexpr (count == 12) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l] = op;
        return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
    } else {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = op;
        return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m);
    }
}

// The tensors of an operation, at different addresses, and whether each is written.
struct Expected {
    std::vector<std::pair<const void*, bool>> tensors;
    std::vector<std::byte> memory = std::vector<std::byte>(32);

    template <bool is_const>
    void add(device::BasicTensor<is_const>& tensor) {
        tensor = {&memory.at(tensors.size()), device::DType::f32, 1, 1, 1};
        tensors.emplace_back(tensor.data, !is_const);
    }
    template <class Other>
    void add(Other&) {}
};

// Fields that are not tensors are skipped: dropout holds only integers, and the sum of a norm is tested below.
template <class Op>
void expect_all_are_named() {
    Op op;
    Expected expected;
    std::apply([&](auto&... fields) { (expected.add(fields), ...); }, list_fields(op));

    std::vector<std::pair<const void*, bool>> named;
    for (const NamedTensor& each : op.tensors()) {
        if (each.tensor.is_present()) named.emplace_back(each.tensor.data, each.is_written);
    }

    std::ranges::sort(named);
    EXPECT_EQ(named, expected.tensors) << op.cost().kernel;
    EXPECT_TRUE(std::ranges::any_of(named, [](const auto& each) { return each.second; })) << op.cost().kernel;
}

template <class... Ops>
void expect_all_are_named_by() {
    (expect_all_are_named<Ops>(), ...);
}

TEST(ValueCheck, SeesEveryTensorOfEveryOperation) {
    expect_all_are_named_by<
        Activation, ActivationBackward, SiluGate, SiluGateBackward, Attention, AttentionBackward, ChannelChange,
        GatherColumns, ScatterColumns, CrossEntropy, ResidualAdd, DropoutBackward, Embedding, EmbeddingBackward,
        Fill, FillNormal, ImageRows, ImageRowsBackward, Linear, LinearBackwardInput, LinearBackwardWeight,
        ColumnSums, LogitStatistics, MergeLogitStatistics, LogitGradients, LayerNorm, LayerNormBackwardInput,
        LayerNormBackwardWeight, RmsNorm, RmsNormBackwardInput, RmsNormBackwardWeight, Rotary, GatherRows,
        ScatterRows, Copy, SpanLoss, BestSpan, AdamWUpdate, SgdUpdate, SumOfSquares>();
}

TEST(ValueCheck, SeesTheFusedSumOfANorm) {
    Operands t;
    const device::Tensor sum = t.unwritten(1, 2);
    LayerNorm norm;
    norm.input = sum;
    norm.output = t.unwritten(1, 2);
    norm.fused_sum.residual = t.zeros(1, 2);
    norm.fused_sum.input = t.zeros(1, 2);
    norm.fused_sum.output = sum;

    std::vector<std::string> read, written;
    for (const NamedTensor& each : norm.tensors()) {
        if (each.tensor.is_present()) (each.is_written ? written : read).emplace_back(each.name);
    }

    EXPECT_EQ(read, (std::vector<std::string>{"residual", "input"}));
    EXPECT_EQ(written, (std::vector<std::string>{"sum", "output"}));
}

class ValueCheckOnBackends : public testing::TestWithParam<device::Stream> {
protected:
    ValueCheckOnBackends() {
        stream_.check = &check_;
        check_.begin_pass(2, 3, true);
        check_.begin_layer("h.1.mlp");
    }

    device::Stream stream_ = GetParam();
    ValueCheck check_;
    Operands t_{device::DType::f32, 3};
};

TEST_P(ValueCheckOnBackends, NamesTheFirstOutputThatOverflows) {
    launch(stream_, Copy{t_.numbers(1, 2, {1, 2}), t_.unwritten(1, 2)});
    EXPECT_FALSE(check_.finding());

    launch(stream_, Linear{.input = t_.numbers(2, 1, {1, 1e30}),
                           .weight = t_.numbers(1, 2, {1, -1e30}),
                           .output = t_.unwritten(2, 2)});
    launch(stream_, Copy{t_.numbers(1, 1, {nan}), t_.unwritten(1, 1)});

    ASSERT_TRUE(check_.finding());
    const NonFiniteOutput& found = *check_.finding();
    EXPECT_EQ(found.kernel, "linear");
    EXPECT_EQ(found.output.tensor_name, "output");
    EXPECT_EQ(found.output.row, 1U);
    EXPECT_EQ(found.output.column, 1U);
    EXPECT_EQ(found.output.value, -infinity);
    EXPECT_FALSE(found.input);
    EXPECT_EQ(found.context.stage, 2);
    EXPECT_EQ(found.context.microbatch, 3);
    EXPECT_TRUE(found.context.is_backward);
    EXPECT_EQ(found.context.layer, "h.1.mlp");
}

TEST_P(ValueCheckOnBackends, NamesTheNonFiniteInput) {
    const device::Tensor weight = t_.numbers(2, 2, {1, 2, 3, infinity});

    launch(stream_, Linear{.input = t_.numbers(1, 2, {1, 1}), .weight = weight, .output = t_.unwritten(1, 2)});

    ASSERT_TRUE(check_.finding());
    const std::optional<NonFiniteValue>& input = check_.finding()->input;
    ASSERT_TRUE(input);
    EXPECT_EQ(input->tensor_name, "weight");
    EXPECT_EQ(input->data, weight.data);
    EXPECT_EQ(input->row, 1U);
    EXPECT_EQ(input->column, 1U);
}

// A kernel's input is checked before the kernel overwrites it.
TEST_P(ValueCheckOnBackends, NamesAnInputThatIsOverwritten) {
    const device::Tensor values = t_.numbers(1, 2, {0, nan});

    launch(stream_, ActivationBackward{t_.numbers(1, 2, {1, 1}), values, values});

    ASSERT_TRUE(check_.finding());
    ASSERT_TRUE(check_.finding()->input);
    EXPECT_EQ(check_.finding()->input->tensor_name, "grad_output");
}

// No index names the row with the NaN.
TEST_P(ValueCheckOnBackends, IgnoresInputRowsThatAreNotRead) {
    launch(stream_, GatherRows{.input = t_.numbers(2, 1, {1, nan}),
                               .rows = t_.numbers_of(device::DType::i32, 1, 1, {0}),
                               .output = t_.unwritten(1, 1)});

    EXPECT_FALSE(check_.finding());
}

INSTANTIATE_TEST_SUITE_P(Each, ValueCheckOnBackends,
                         testing::Values(device::Stream{device::ReferenceStream{}},
                                         device::Stream{device::CpuStream{2}}),
                         [](const auto& trial) { return trial.index == 0 ? "reference" : "cpu"; });

TEST(ValueCheck, ChecksEveryElementTypeButNoGhosts) {
    device::Stream stream{device::ReferenceStream{}};
    for (const device::DType dtype : {device::DType::f32, device::DType::f64, device::DType::bf16}) {
        Operands t(dtype, 2);
        EXPECT_FALSE(find_non_finite_value(stream, {"values", t.numbers(2, 2, {1, -2, 3, 1e30})}));
        const auto found = find_non_finite_value(stream, {"values", t.numbers(2, 2, {1, 2, -infinity, nan})});
        ASSERT_TRUE(found);
        EXPECT_EQ(describe_non_finite(found->value), "-inf");
        EXPECT_EQ(found->row, 1U);
        EXPECT_EQ(found->column, 0U);
    }
    device::Stream ghost{device::GhostStream{}};
    EXPECT_FALSE(find_non_finite_value(
        ghost, {"values", device::Tensor{nullptr, device::DType::f32, 2, 2, 2, device::MemorySpace::ghost}}));
}

}  // namespace
}  // namespace trireme::kernels
