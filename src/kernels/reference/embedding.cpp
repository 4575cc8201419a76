// The oracle: one row after the other.
#include "trireme/kernels/embedding.hpp"

#include "kernels/index_check.hpp"

namespace trireme {
namespace {

template <class T>
T* named_row(const Elements<T>& table, const Elements<const std::int32_t>& indices, std::size_t r) {
    return table.row(static_cast<std::size_t>(indices[r]));
}

template <class T>
void add(const ConstTensor& table, const ConstTensor& indices, const Elements<T>& output) {
    if (!table.is_present()) return;
    for (std::size_t r = 0; r < output.rows; ++r) {
        const T* row = named_row(table.as<T>(), indices.as<std::int32_t>(), r);
        for (std::size_t c = 0; c < output.columns; ++c) output(r, c) += row[c];
    }
}

template <class T>
void forward(const Embedding& op) {
    const auto output = op.output.as<T>();
    for (std::size_t r = 0; r < output.rows; ++r) {
        const T* token = named_row(op.token_table.as<T>(), op.tokens.as<std::int32_t>(), r);
        for (std::size_t c = 0; c < output.columns; ++c) output(r, c) = token[c];
    }
    add(op.position_table, op.positions, output);
    add(op.type_table, op.types, output);
}

template <class T>
void scatter(const Elements<const T>& rows, const ConstTensor& indices, const Tensor& table) {
    if (!table.is_present()) return;
    for (std::size_t r = 0; r < rows.rows; ++r) {
        T* sum = named_row(table.as<T>(), indices.as<std::int32_t>(), r);
        for (std::size_t c = 0; c < rows.columns; ++c) sum[c] += rows(r, c);
    }
}

template <class T>
void backward(const EmbeddingBackward& op) {
    const auto grad_output = op.grad_output.as<T>();
    scatter(grad_output, op.tokens, op.grad_token_table);
    scatter(grad_output, op.positions, op.grad_position_table);
    scatter(grad_output, op.types, op.grad_type_table);
}

}  // namespace

void run(ReferenceStream&, const Embedding& op) {
    check_indices(op);
    visit_float(op.output.dtype, [&](auto zero) { forward<decltype(zero)>(op); });
}

void run(ReferenceStream&, const EmbeddingBackward& op) {
    check_indices(op);
    visit_float(op.grad_output.dtype, [&](auto zero) { backward<decltype(zero)>(op); });
}

}  // namespace trireme
