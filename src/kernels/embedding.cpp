#include "trireme/kernels/embedding.hpp"

#include <algorithm>

#include "kernels/shape_check.hpp"

namespace trireme::kernels {
namespace {

// Returns an upper bound of the bytes of the table rows that `count` lookups access.
std::size_t count_touched_bytes(const device::ConstTensor& table, std::size_t count) {
    return std::min(count, table.rows) * table.columns * byte_size(table.dtype);
}

// Checks that the rank's tokens lie within the vocabulary. If `vocabulary` is 0, the table holds all tokens.
void check_vocabulary_range(const ShapeCheck& check, std::string_view table_name, std::size_t first_token,
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
    check.require_vector(device::DType::i32, "types", types, rows);
}

}  // namespace

void Embedding::check() const {
    const ShapeCheck check("embedding", output.dtype);
    check.require_vector(device::DType::i32, "tokens", tokens, output.rows);
    check.require_vector(device::DType::i32, "positions", positions, output.rows);
    check.require_matrix("token_table", token_table, token_table.rows, output.columns);
    check_vocabulary_range(check, "token_table", first_token, token_table.rows, vocabulary);
    if (position_table.is_present()) {
        check.require_matrix("position_table", position_table, position_table.rows, output.columns);
    }
    check_types(check, types, "type_table", type_table, output.rows);
    if (type_table.is_present())
        check.require_matrix("type_table", type_table, type_table.rows, output.columns);
    check.require_matrix("output", output, output.rows, output.columns);
}

device::Cost Embedding::cost() const {
    const std::size_t index_bytes = tokens.bytes() + positions.bytes() + types.bytes();
    const std::size_t read = index_bytes + count_touched_bytes(token_table, output.rows) +
                             count_touched_bytes(position_table, output.rows) +
                             count_touched_bytes(type_table, output.rows);
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
    check.require_vector(device::DType::i32, "tokens", tokens, grad_output.rows);
    check.require_vector(device::DType::i32, "positions", positions, grad_output.rows);
    check.require_matrix("grad_output", grad_output, grad_output.rows, grad_output.columns);
    check.require_wide_matrix("grad_token_table", grad_token_table, grad_token_table.rows, grad_output.columns);
    check_vocabulary_range(check, "grad_token_table", first_token, grad_token_table.rows, vocabulary);
    if (grad_position_table.is_present()) {
        check.require_wide_matrix("grad_position_table", grad_position_table, grad_position_table.rows,
                                  grad_output.columns);
    }
    check_types(check, types, "grad_type_table", grad_type_table, grad_output.rows);
    if (grad_type_table.is_present())
        check.require_wide_matrix("grad_type_table", grad_type_table, grad_type_table.rows,
                                  grad_output.columns);
}

device::Cost EmbeddingBackward::cost() const {
    const std::size_t read = tokens.bytes() + positions.bytes() + types.bytes() + grad_output.bytes();
    const std::size_t accumulated_bytes = count_touched_bytes(grad_token_table, grad_output.rows) +
                                          count_touched_bytes(grad_position_table, grad_output.rows) +
                                          count_touched_bytes(grad_type_table, grad_output.rows);
    return {.kernel = "embedding_backward", .bytes = static_cast<double>(read + 2 * accumulated_bytes)};
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
