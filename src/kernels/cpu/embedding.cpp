#include "trireme/kernels/embedding.hpp"

#include <algorithm>

#include "kernels/cpu/parallel.hpp"
#include "kernels/index_check.hpp"

namespace trireme::kernels {
namespace {

// A table, or the part of one that begins with row `first`, and the table row of each output row.
template <class T>
struct Lookup {
    Lookup(const device::ConstTensor& table, const device::ConstTensor& indices, std::size_t first_row = 0)
        : rows(table.as<T>()), places(indices.as<std::int32_t>().data), first(first_row) {}

    const T* row(std::size_t r) const { return rows.row(static_cast<std::size_t>(places[r])); }

    // Returns nullptr if the part does not hold the row. An index below `first` wraps around to a huge place.
    const T* row_of_part(std::size_t r) const {
        const std::size_t place = static_cast<std::size_t>(places[r]) - first;
        return place < rows.rows ? rows.row(place) : nullptr;
    }

    device::Elements<const T> rows;
    const std::int32_t* places;
    std::size_t first;
};

// y = sum of the rows; 0 if there are none
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
template <class T, class... Added>
void embed_rows(int threads, const device::Elements<T>& output, const Lookup<T>& tokens,
                const Added&... added) {
    cpu::for_each_rows(threads, output.rows, output.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) {
            const T* token = tokens.row_of_part(r);
            if (token != nullptr) {
                write_sum(output.row(r), output.columns, token, added.row(r)...);
            } else {
                write_sum(output.row(r), output.columns, added.row(r)...);
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

// A token may occur in many rows, so the threads divide the channels. Each thread visits the rows in order.
template <class T>
void add_rows(int threads, const device::Elements<const T>& rows, const device::ConstTensor& indices,
              const device::Tensor& tensor, std::size_t first = 0) {
    if (!tensor.is_present()) return;
    const std::int32_t* places = indices.as<std::int32_t>().data;
    const auto table = tensor.as<T>();
    cpu::for_each_columns(threads, rows.rows, rows.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = 0; r < rows.rows; ++r) {
            const std::size_t place = static_cast<std::size_t>(places[r]) - first;
            if (place >= table.rows) continue;  // another rank holds it
            const T* from = rows.row(r);
            T* to = table.row(place);
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
