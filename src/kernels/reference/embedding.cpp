// Reference implementation: one row at a time.
#include "trireme/kernels/embedding.hpp"

#include "kernels/index_check.hpp"

namespace trireme::kernels {
namespace {

// Returns the table row with the global index indices[r]; nullptr if the table does not hold that row. `first`
// is the global index of the table's first row.
template <class T>
T* find_table_row(const device::Elements<T>& table, std::size_t first,
                  const device::Elements<const std::int32_t>& indices, std::size_t r) {
    const auto index = static_cast<std::size_t>(indices[r]);
    return first <= index && index < first + table.rows ? table.row(index - first) : nullptr;
}

template <class T>
void add(const device::ConstTensor& table, const device::ConstTensor& indices,
         const device::Elements<T>& output, std::size_t first = 0) {
    if (!table.is_present()) return;
    for (std::size_t r = 0; r < output.rows; ++r) {
        const T* row = find_table_row(table.as<T>(), first, indices.as<std::int32_t>(), r);
        if (row == nullptr) continue;
        for (std::size_t c = 0; c < output.columns; ++c) output(r, c) += row[c];
    }
}

template <class T>
void forward(const Embedding& op) {
    const auto output = op.output.as<T>();
    for (std::size_t r = 0; r < output.rows; ++r) {
        for (std::size_t c = 0; c < output.columns; ++c) output(r, c) = 0;
    }
    add(op.token_table, op.tokens, output, op.first_token);
    add(op.position_table, op.positions, output);
    add(op.type_table, op.types, output);
}

template <class T>
void scatter(const device::Elements<const T>& rows, const device::ConstTensor& indices,
             const device::Tensor& grad_table, std::size_t first = 0) {
    if (!grad_table.is_present()) return;
    for (std::size_t r = 0; r < rows.rows; ++r) {
        T* sum = find_table_row(grad_table.as<T>(), first, indices.as<std::int32_t>(), r);
        if (sum == nullptr) continue;
        for (std::size_t c = 0; c < rows.columns; ++c) sum[c] += rows(r, c);
    }
}

template <class T>
void backward(const EmbeddingBackward& op) {
    const auto grad_output = op.grad_output.as<T>();
    scatter(grad_output, op.tokens, op.grad_token_table, op.first_token);
    scatter(grad_output, op.positions, op.grad_position_table);
    scatter(grad_output, op.types, op.grad_type_table);
}

}  // namespace

void run(device::ReferenceStream&, const Embedding& op) {
    check_indices(op);
    visit_float(op.output.dtype, [&](auto zero) { forward<decltype(zero)>(op); });
}

void run(device::ReferenceStream&, const EmbeddingBackward& op) {
    check_indices(op);
    visit_float(op.grad_output.dtype, [&](auto zero) { backward<decltype(zero)>(op); });
}

}  // namespace trireme::kernels
