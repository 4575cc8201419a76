#include "trireme/kernels/embedding.hpp"

#include <algorithm>

#include "kernels/shape_check.hpp"

namespace trireme::kernels {
namespace {

// Returns the bytes of the table rows that `count` lookups access at most.
std::size_t touched_bytes(const device::ConstTensor& table, std::size_t count) {
    return std::min(count, table.rows) * table.columns * bytes_of(table.dtype);
}

// Checks that the rank's part of the vocabulary lies within it. If `vocabulary` is 0, the table holds all
// tokens.
void check_part(const ShapeCheck& check, std::string_view table_name, std::size_t first_token,
                std::size_t own_tokens, std::size_t vocabulary) {
    const std::size_t all = vocabulary == 0 ? own_tokens : vocabulary;
    check.demand(first_token + own_tokens <= all, "a ", table_name, " of ", own_tokens, " tokens from token ",
                 first_token, " on does not fit into a vocabulary of ", all);
}

void check_types(const ShapeCheck& check, const device::ConstTensor& types, std::string_view table_name,
                 const device::ConstTensor& table, std::size_t rows) {
    check.demand(table.is_present() || !types.is_present(), "there are ", types.size(), " types but no ",
                 table_name);
    if (!table.is_present()) return;
    check.vector_of(device::DType::i32, "types", types, rows);
}

}  // namespace

void Embedding::check() const {
    const ShapeCheck check("embedding", output.dtype);
    check.vector_of(device::DType::i32, "tokens", tokens, output.rows);
    check.vector_of(device::DType::i32, "positions", positions, output.rows);
    check.matrix("token_table", token_table, token_table.rows, output.columns);
    check_part(check, "token_table", first_token, token_table.rows, vocabulary);
    if (position_table.is_present()) {
        check.matrix("position_table", position_table, position_table.rows, output.columns);
    }
    check_types(check, types, "type_table", type_table, output.rows);
    if (type_table.is_present()) check.matrix("type_table", type_table, type_table.rows, output.columns);
    check.matrix("output", output, output.rows, output.columns);
}

device::Cost Embedding::cost() const {
    const std::size_t indices = tokens.bytes() + positions.bytes() + types.bytes();
    const std::size_t read = indices + touched_bytes(token_table, output.rows) +
                             touched_bytes(position_table, output.rows) +
                             touched_bytes(type_table, output.rows);
    return {.kernel = "embedding", .bytes = static_cast<double>(read + output.bytes())};
}

NamedTensors Embedding::tensors() const {
    return {{"tokens", tokens},
            {"positions", positions},
            {"token_table", token_table},
            {"position_table", position_table},
            {"types", types},
            {"type_table", type_table},
            {"output", output}};
}

void EmbeddingBackward::check() const {
    const ShapeCheck check("embedding_backward", grad_output.dtype);
    check.vector_of(device::DType::i32, "tokens", tokens, grad_output.rows);
    check.vector_of(device::DType::i32, "positions", positions, grad_output.rows);
    check.matrix("grad_output", grad_output, grad_output.rows, grad_output.columns);
    check.wide_matrix("grad_token_table", grad_token_table, grad_token_table.rows, grad_output.columns);
    check_part(check, "grad_token_table", first_token, grad_token_table.rows, vocabulary);
    if (grad_position_table.is_present()) {
        check.wide_matrix("grad_position_table", grad_position_table, grad_position_table.rows,
                          grad_output.columns);
    }
    check_types(check, types, "grad_type_table", grad_type_table, grad_output.rows);
    if (grad_type_table.is_present())
        check.wide_matrix("grad_type_table", grad_type_table, grad_type_table.rows, grad_output.columns);
}

device::Cost EmbeddingBackward::cost() const {
    const std::size_t read = tokens.bytes() + positions.bytes() + types.bytes() + grad_output.bytes();
    const std::size_t summed = touched_bytes(grad_token_table, grad_output.rows) +
                               touched_bytes(grad_position_table, grad_output.rows) +
                               touched_bytes(grad_type_table, grad_output.rows);
    return {.kernel = "embedding_backward", .bytes = static_cast<double>(read + 2 * summed)};
}

NamedTensors EmbeddingBackward::tensors() const {
    return {{"tokens", tokens},
            {"positions", positions},
            {"grad_output", grad_output},
            {"grad_token_table", grad_token_table},
            {"grad_position_table", grad_position_table},
            {"types", types},
            {"grad_type_table", grad_type_table}};
}

}  // namespace trireme::kernels
