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
void forward(const Embedding& op) {
    const auto output = op.output.as<T>();
    for (std::size_t r = 0; r < output.rows; ++r) {
        const T* token = named_row(op.token_table.as<T>(), op.tokens.as<std::int32_t>(), r);
        for (std::size_t c = 0; c < output.columns; ++c) output(r, c) = token[c];
        if (!op.position_table.is_present()) continue;
        const T* position = named_row(op.position_table.as<T>(), op.positions.as<std::int32_t>(), r);
        for (std::size_t c = 0; c < output.columns; ++c) output(r, c) += position[c];
    }
}

template <class T>
void scatter(const Elements<const T>& rows, const Elements<const std::int32_t>& indices,
             const Elements<T>& table) {
    for (std::size_t r = 0; r < rows.rows; ++r) {
        T* sum = named_row(table, indices, r);
        for (std::size_t c = 0; c < rows.columns; ++c) sum[c] += rows(r, c);
    }
}

template <class T>
void backward(const EmbeddingBackward& op) {
    const auto grad_output = op.grad_output.as<T>();
    scatter(grad_output, op.tokens.as<std::int32_t>(), op.grad_token_table.as<T>());
    if (op.grad_position_table.is_present()) {
        scatter(grad_output, op.positions.as<std::int32_t>(), op.grad_position_table.as<T>());
    }
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
