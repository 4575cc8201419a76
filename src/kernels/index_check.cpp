#include "kernels/index_check.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace trireme::kernels {
namespace {

// Throws BugError unless first <= index < end for each of `indices`, a vector of i32.
void check_range(std::string_view name, const device::ConstTensor& indices, std::int64_t first,
                 std::size_t end) {
    const std::int32_t* begin = indices.as<std::int32_t>().data;
    const auto last = static_cast<std::int64_t>(end) - 1;
    const auto is_out_of_range = [&](std::int32_t index) { return index < first || index > last; };
    const auto* first_wrong = std::find_if(begin, begin + indices.columns, is_out_of_range);
    if (first_wrong == begin + indices.columns) return;
    throw BugError(
        cat(name, "[", first_wrong - begin, "] is ", *first_wrong, ", not within ", first, " .. ", last));
}

// The table may hold only the rank's fraction of the vocabulary, so tokens of other ranks are valid as well. If
// `vocabulary` is 0, the table holds all tokens.
void check_tokens(std::string_view name, const device::ConstTensor& tokens, std::size_t vocabulary,
                  const device::ConstTensor& table) {
    check_range(name, tokens, 0, vocabulary == 0 ? table.rows : vocabulary);
}

void check_lookup(std::string_view name, const device::ConstTensor& indices, const device::ConstTensor& table) {
    if (table.is_present()) check_range(name, indices, 0, table.rows);
}

// `pair` holds the two rows of segment s. Throws BugError unless first <= row <= last for both rows.
void check_row_pair(std::string_view name, std::size_t s, const std::int32_t* pair, std::int64_t first,
                    std::int64_t last) {
    const auto is_within = [&](std::int32_t row) { return first <= row && row <= last; };
    if (is_within(pair[0]) && is_within(pair[1])) return;
    throw BugError(cat(name, "[", s, "] is (", pair[0], ", ", pair[1], "), not within ", first, " .. ", last));
}

// Throws BugError if an index occurs twice. The caller ensures that 0 <= index < `end`.
void check_distinct(std::string_view name, const device::ConstTensor& indices, std::size_t end) {
    const auto elements = indices.as<std::int32_t>();
    std::vector<bool> is_used(end);
    for (std::size_t i = 0; i < elements.columns; ++i) {
        const auto index = static_cast<std::size_t>(elements[i]);
        if (is_used[index]) throw BugError(cat(name, "[", i, "] is ", index, ", as is an earlier element"));
        is_used[index] = true;
    }
}

}  // namespace

void check_indices(const Embedding& op) {
    check_tokens("embedding: tokens", op.tokens, op.vocabulary, op.token_table);
    check_lookup("embedding: positions", op.positions, op.position_table);
    check_lookup("embedding: types", op.types, op.type_table);
}

void check_indices(const EmbeddingBackward& op) {
    check_tokens("embedding_backward: tokens", op.tokens, op.vocabulary, op.grad_token_table);
    check_lookup("embedding_backward: positions", op.positions, op.grad_position_table);
    check_lookup("embedding_backward: types", op.types, op.grad_type_table);
}

void check_indices(const CrossEntropy& op) {
    check_range("cross_entropy: targets", op.targets, no_target, op.logits.columns);
}

// Accepts every target from no_target up, because a rank does not know how many columns the other ranks have.
void check_indices(const LogitStatistics& op) {
    constexpr std::size_t end = std::size_t{std::numeric_limits<std::int32_t>::max()} + 1;
    check_range("logit_statistics: targets", op.targets, no_target, end);
}

void check_indices(const MergeLogitStatistics& op) {
    check_range("merge_logit_statistics: targets", op.targets, no_target, op.columns);
}

void check_indices(const LogitGradients& op) {
    check_range("logit_gradients: targets", op.targets, no_target, op.columns);
}

void check_indices(const GatherRows& op) { check_range("gather_rows: rows", op.rows, 0, op.input.rows); }

void check_indices(const ScatterRows& op) {
    check_range("scatter_rows: rows", op.rows, 0, op.output.rows);
    check_distinct("scatter_rows: rows", op.rows, op.output.rows);
}

void check_indices(const GatherColumns& op) {
    check_range("gather_columns: columns", op.columns, 0, op.input.columns);
}

void check_indices(const ScatterColumns& op) {
    check_range("scatter_columns: columns", op.columns, 0, op.output.columns);
    check_distinct("scatter_columns: columns", op.columns, op.output.columns);
}

void check_indices(const SpanLoss& op) {
    const auto answers = op.answers.as<std::int32_t>();
    for (std::size_t s = 0; s < op.segments.size(); ++s) {
        if (answers(s, 0) == no_target) continue;
        check_row_pair("span_loss: answers", s, answers.row(s), 0,
                       static_cast<std::int64_t>(op.segments[s].length) - 1);
    }
}

void check_indices(const BestSpan& op) {
    const auto contexts = op.contexts.as<std::int32_t>();
    for (std::size_t s = 0; s < op.segments.size(); ++s) {
        if (contexts(s, 0) >= contexts(s, 1)) continue;  // an empty range is never read
        check_row_pair("best_span: contexts", s, contexts.row(s), 0,
                       static_cast<std::int64_t>(op.segments[s].length));
    }
}

void check_segments(const ShapeCheck& check, std::span<const Segment> segments, std::size_t rows) {
    std::vector<Segment> sorted(segments.begin(), segments.end());
    std::sort(sorted.begin(), sorted.end(),
              [](const Segment& a, const Segment& b) { return a.begin < b.begin; });
    std::size_t end = 0;  // end of the segments that were checked
    for (const Segment& segment : sorted) {
        check.demand(segment.begin <= rows && segment.length <= rows - segment.begin, "a segment of ",
                     segment.length, " rows from row ", segment.begin, " does not fit into ", rows, " rows");
        check.demand(segment.begin >= end || segment.length == 0, "the segment from row ", segment.begin,
                     " begins before the previous segment ends at row ", end);
        end = std::max(end, segment.begin + segment.length);
    }
}

}  // namespace trireme::kernels
