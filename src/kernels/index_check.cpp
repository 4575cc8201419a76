#include "kernels/index_check.hpp"

#include <algorithm>

namespace trireme {
namespace {

// Throws unless first <= index < end for each of `indices`, (n) i32.
void check_range(std::string_view name, const ConstTensor& indices, std::int64_t first, std::size_t end) {
    const std::int32_t* begin = indices.as<std::int32_t>().data;
    const auto last = static_cast<std::int64_t>(end) - 1;
    const auto is_wrong = [&](std::int32_t index) { return index < first || index > last; };
    const auto* wrong = std::find_if(begin, begin + indices.columns, is_wrong);
    if (wrong == begin + indices.columns) return;
    throw BugError(cat(name, "[", wrong - begin, "] is ", *wrong, ", not within ", first, " .. ", last));
}

}  // namespace

void check_indices(const Embedding& op) {
    check_range("embedding: tokens", op.tokens, 0, op.token_table.rows);
    if (!op.position_table.is_present()) return;
    check_range("embedding: positions", op.positions, 0, op.position_table.rows);
}

void check_indices(const EmbeddingBackward& op) {
    check_range("embedding_backward: tokens", op.tokens, 0, op.grad_token_table.rows);
    if (!op.grad_position_table.is_present()) return;
    check_range("embedding_backward: positions", op.positions, 0, op.grad_position_table.rows);
}

void check_indices(const CrossEntropy& op) {
    check_range("cross_entropy: targets", op.targets, no_target, op.logits.columns);
}

}  // namespace trireme
