#include "trireme/kernels/embedding.hpp"

#include <algorithm>

#include "kernels/cpu/parallel.hpp"
#include "kernels/index_check.hpp"

namespace trireme::kernels {
namespace {

// The table rows that this rank holds, and the global index of the table row that each output row uses. The
// first table row of this rank has the global index `first_index`.
template <class T>
struct Lookup {
    Lookup(const device::ConstTensor& table, const device::ConstTensor& indices, std::size_t first_row = 0)
        : rows(table.as<T>()), row_indices(indices.as<std::int32_t>().data), first_index(first_row) {}

    // Returns the table row that output row r uses, in a table that is complete on this rank.
    const T* row(std::size_t r) const { return rows.row(static_cast<std::size_t>(row_indices[r])); }

    // Returns the table row that output row r uses, or nullptr if another rank holds that table row. An index
    // below `first_index` wraps around to a huge number, which is beyond the local rows.
    const T* find_local_row(std::size_t r) const {
        const std::size_t local_row = static_cast<std::size_t>(row_indices[r]) - first_index;
        return local_row < rows.rows ? rows.row(local_row) : nullptr;
    }

    device::Elements<const T> rows;
    const std::int32_t* row_indices;
    std::size_t first_index;
};

// y = sum of the rows; 0 if there are no rows
template <class T, class... Row>
void write_sum(T* y, std::size_t columns, const Row*... rows) {
    if constexpr (sizeof...(rows) == 0) {
        std::fill_n(y, columns, T{0});
    } else {
#pragma omp simd
        for (std::size_t c = 0; c < columns; ++c) y[c] = (... + rows[c]);
    }
}

// Each output row is written once. The threads divide the output rows among themselves.
template <class T, class... Lookups>
void embed_rows(int threads, const device::Elements<T>& output, const Lookup<T>& tokens,
                const Lookups&... lookups) {
    cpu::for_each_rows(threads, output.rows, output.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) {
            const T* token = tokens.find_local_row(r);
            if (token != nullptr) {
                write_sum(output.row(r), output.columns, token, lookups.row(r)...);
            } else {
                write_sum(output.row(r), output.columns, lookups.row(r)...);
            }
        }
    });
}

template <class T>
void embed(int threads, const Embedding& op) {
    const auto output = op.output.as<T>();
    const Lookup<T> tokens(op.token_table, op.tokens, op.first_token);
    const bool has_positions = op.position_table.is_present();
    const bool has_types = op.type_table.is_present();
    if (has_positions && has_types) {
        embed_rows(threads, output, tokens, Lookup<T>(op.position_table, op.positions),
                   Lookup<T>(op.type_table, op.types));
    } else if (has_positions) {
        embed_rows(threads, output, tokens, Lookup<T>(op.position_table, op.positions));
    } else if (has_types) {
        embed_rows(threads, output, tokens, Lookup<T>(op.type_table, op.types));
    } else {
        embed_rows(threads, output, tokens);
    }
}

// Adds row r of `rows` to the row of `grad_table` with the global index indices[r]. A token may occur in many
// rows, so the threads divide the channels among themselves. Each thread visits the rows in order.
template <class T>
void add_rows(int threads, const device::Elements<const T>& rows, const device::ConstTensor& indices,
              const device::Tensor& grad_table, std::size_t first_index = 0) {
    if (!grad_table.is_present()) return;
    const std::int32_t* row_indices = indices.as<std::int32_t>().data;
    const auto grad_rows = grad_table.as<T>();
    cpu::for_each_columns(threads, rows.rows, rows.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = 0; r < rows.rows; ++r) {
            const std::size_t local_row = static_cast<std::size_t>(row_indices[r]) - first_index;
            if (local_row >= grad_rows.rows) continue;  // another rank holds the table row
            const T* from = rows.row(r);
            T* to = grad_rows.row(local_row);
#pragma omp simd
            for (std::size_t c = begin; c < end; ++c) to[c] += from[c];
        }
    });
}

}  // namespace

void run(device::CpuStream& stream, const Embedding& op) {
    check_indices(op);
    visit_float(op.output.dtype, [&](auto zero) { embed<decltype(zero)>(stream.threads, op); });
}

void run(device::CpuStream& stream, const EmbeddingBackward& op) {
    check_indices(op);
    visit_float(op.grad_output.dtype, [&](auto zero) {
        using T = decltype(zero);
        const auto grad_output = op.grad_output.as<T>();
        add_rows(stream.threads, grad_output, op.tokens, op.grad_token_table, op.first_token);
        add_rows(stream.threads, grad_output, op.positions, op.grad_position_table);
        add_rows(stream.threads, grad_output, op.types, op.grad_type_table);
    });
}

}  // namespace trireme::kernels
