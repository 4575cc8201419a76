#include "trireme/kernels/embedding.hpp"

#include <algorithm>

#include "kernels/shape_check.hpp"

namespace trireme {
namespace {

// Of the rows of a table that `count` lookups can touch at most.
std::size_t touched_bytes(const ConstTensor& table, std::size_t count) {
    return std::min(count, table.rows) * table.columns * bytes_of(table.dtype);
}

}  // namespace

void Embedding::check() const {
    const ShapeCheck check("embedding", output.dtype);
    check.vector_of(DType::i32, "tokens", tokens, output.rows);
    check.vector_of(DType::i32, "positions", positions, output.rows);
    check.matrix("token_table", token_table, token_table.rows, output.columns);
    if (position_table.is_present()) {
        check.matrix("position_table", position_table, position_table.rows, output.columns);
    }
    check.matrix("output", output, output.rows, output.columns);
}

Cost Embedding::cost() const {
    const std::size_t read = tokens.bytes() + positions.bytes() + touched_bytes(token_table, output.rows) +
                             touched_bytes(position_table, output.rows);
    return {.kernel = "embedding", .bytes = static_cast<double>(read + output.bytes())};
}

void EmbeddingBackward::check() const {
    const ShapeCheck check("embedding_backward", grad_output.dtype);
    check.vector_of(DType::i32, "tokens", tokens, grad_output.rows);
    check.vector_of(DType::i32, "positions", positions, grad_output.rows);
    check.matrix("grad_output", grad_output, grad_output.rows, grad_output.columns);
    check.matrix("grad_token_table", grad_token_table, grad_token_table.rows, grad_output.columns);
    if (grad_position_table.is_present()) {
        check.matrix("grad_position_table", grad_position_table, grad_position_table.rows, grad_output.columns);
    }
}

Cost EmbeddingBackward::cost() const {
    const std::size_t read = tokens.bytes() + positions.bytes() + grad_output.bytes();
    const std::size_t summed = touched_bytes(grad_token_table, grad_output.rows) +
                               touched_bytes(grad_position_table, grad_output.rows);
    return {.kernel = "embedding_backward", .bytes = static_cast<double>(read + 2 * summed)};
}

}  // namespace trireme
