#include "trireme/kernels/attention.hpp"

#include "kernels/index_check.hpp"
#include "kernels/shape_check.hpp"
#include "trireme/kernels/rotary.hpp"

namespace trireme::kernels {
namespace {

void check_shape(const ShapeCheck& check, const AttentionShape& shape, const device::ConstTensor& query) {
    check.demand(shape.heads > 0 && shape.key_value_heads > 0 && shape.heads % shape.key_value_heads == 0,
                 shape.heads, " heads cannot be divided evenly into ", shape.key_value_heads, " groups");
    check.demand(query.columns % shape.heads == 0, query.columns, " columns of query cannot be cut into ",
                 shape.heads, " heads");
    const double rate = shape.dropout.rate;
    check.demand(rate >= 0 && rate < 1, "a dropout rate of ", rate, " is not in [0, 1)");
    check_segments(check, shape.segments, query.rows);
}

// Returns the number of columns of the key, and of the value.
std::size_t count_key_columns(const AttentionShape& shape, const device::ConstTensor& query) {
    return query.columns / shape.heads * shape.key_value_heads;
}

// Returns the FLOPs of one matmul of attention: two per channel and per (query, key) pair that is not masked.
// `channels` is the number of channels of all query heads together.
double count_matmul_flops(const AttentionShape& shape, std::size_t channels) {
    double pairs = 0;
    for (const Segment& segment : shape.segments) {
        const auto length = static_cast<double>(segment.length);
        pairs += shape.is_causal ? length * (length + 1) / 2 : length * length;
    }
    return 2 * pairs * static_cast<double>(channels);
}

}  // namespace

void Attention::check() const {
    const ShapeCheck check("attention", query.dtype);
    check_shape(check, shape, query);
    check.require_matrix("query", query, query.rows, query.columns);
    check.require_matrix("key", key, query.rows, count_key_columns(shape, query));
    check.require_matrix("value", value, query.rows, count_key_columns(shape, query));
    check.require_matrix("output", output, query.rows, query.columns);
    check.require_wide_matrix("log_sum", log_sum, query.rows, shape.heads);
}

device::Cost Attention::cost() const {
    constexpr double matmuls = 2;  // scores, output
    const std::size_t bytes = query.bytes() + key.bytes() + value.bytes() + output.bytes() + log_sum.bytes();
    return {.kernel = "attention",
            .flops = matmuls * count_matmul_flops(shape, query.columns),
            .bytes = static_cast<double>(bytes)};
}

NamedTensors Attention::tensors() const {
    return {{"query", query}, {"key", key}, {"value", value}, {"output", output}, {"log_sum", log_sum}};
}

void AttentionBackward::check() const {
    const ShapeCheck check("attention_backward", query.dtype);
    check_shape(check, shape, query);
    const std::size_t key_value_columns = count_key_columns(shape, query);
    check.require_matrix("query", query, query.rows, query.columns);
    check.require_matrix("key", key, query.rows, key_value_columns);
    check.require_matrix("value", value, query.rows, key_value_columns);
    check.require_matrix("output", output, query.rows, query.columns);
    check.require_wide_matrix("log_sum", log_sum, query.rows, shape.heads);
    check.require_matrix("grad_output", grad_output, query.rows, query.columns);
    check.require_matrix("grad_query", grad_query, query.rows, query.columns);
    check.require_matrix("grad_key", grad_key, query.rows, key_value_columns);
    check.require_matrix("grad_value", grad_value, query.rows, key_value_columns);
}

device::Cost AttentionBackward::cost() const {
    constexpr double matmuls = 5;  // recomputed scores, gradients of weights, query, key and value
    const std::size_t read =
        query.bytes() + key.bytes() + value.bytes() + output.bytes() + log_sum.bytes() + grad_output.bytes();
    const std::size_t written = grad_query.bytes() + grad_key.bytes() + grad_value.bytes();
    return {.kernel = "attention_backward",
            .flops = matmuls * count_matmul_flops(shape, query.columns),
            .bytes = static_cast<double>(read + written)};
}

NamedTensors AttentionBackward::tensors() const {
    return {{"query", query},           {"key", key},           {"value", value},
            {"output", output},         {"log_sum", log_sum},   {"grad_output", grad_output},
            {"grad_query", grad_query}, {"grad_key", grad_key}, {"grad_value", grad_value}};
}

void Rotary::check() const {
    const ShapeCheck check("rotary", values.dtype);
    check.require_matrix("values", values, values.rows, values.columns);
    check.require_vector(device::DType::i32, "positions", positions, values.rows);
    const std::size_t head_size = 2 * frequencies.size();
    check.demand(head_size > 0, "frequencies is empty; it needs one value per pair of channels of a head");
    check.demand(values.columns % head_size == 0, values.columns,
                 " columns of values cannot be cut into heads of ", head_size, " channels, two per frequency");
    for (std::size_t c = 0; c < frequencies.size(); ++c) {
        check.demand(frequencies[c] >= 0 && frequencies[c] <= 1, "frequencies[", c, "] is ", frequencies[c],
                     ", not within 0 .. 1 radians per position");
    }
}

device::Cost Rotary::cost() const {
    const std::size_t bytes = 2 * values.bytes() + positions.bytes() + frequencies.size_bytes();
    return {.kernel = "rotary", .bytes = static_cast<double>(bytes)};
}

NamedTensors Rotary::tensors() const { return {{"values", values}, {"positions", positions}}; }

}  // namespace trireme::kernels
