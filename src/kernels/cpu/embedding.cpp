#include "trireme/kernels/embedding.hpp"

#include <algorithm>

#include "kernels/cpu/parallel.hpp"
#include "kernels/index_check.hpp"

namespace trireme {
namespace {

template <class T>
void embed(int threads, const Embedding& op) {
    const std::int32_t* tokens = op.tokens.as<std::int32_t>().data;
    const std::int32_t* positions = op.positions.as<std::int32_t>().data;
    const auto token_table = op.token_table.as<T>();
    const auto position_table =
        op.position_table.is_present() ? op.position_table.as<T>() : Elements<const T>{};
    const auto output = op.output.as<T>();
    const std::size_t columns = output.columns;
    cpu::for_each_rows(threads, output.rows, columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) {
            const T* token = token_table.row(static_cast<std::size_t>(tokens[r]));
            T* y = output.row(r);
            if (position_table.data == nullptr) {
                std::copy_n(token, columns, y);
                continue;
            }
            const T* position = position_table.row(static_cast<std::size_t>(positions[r]));
#pragma omp simd
            for (std::size_t c = 0; c < columns; ++c) y[c] = token[c] + position[c];
        }
    });
}

// A token may occur in many rows: threads share the channels and each goes through the rows in their order.
template <class T>
void add_rows(int threads, const Elements<const T>& rows, const std::int32_t* places,
              const Elements<T>& table) {
    cpu::for_each_columns(threads, rows.rows, rows.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = 0; r < rows.rows; ++r) {
            const T* from = rows.row(r);
            T* to = table.row(static_cast<std::size_t>(places[r]));
#pragma omp simd
            for (std::size_t c = begin; c < end; ++c) to[c] += from[c];
        }
    });
}

}  // namespace

void run(CpuStream& stream, const Embedding& op) {
    check_indices(op);
    visit_float(op.output.dtype, [&](auto zero) { embed<decltype(zero)>(stream.threads, op); });
}

void run(CpuStream& stream, const EmbeddingBackward& op) {
    check_indices(op);
    visit_float(op.grad_output.dtype, [&](auto zero) {
        using T = decltype(zero);
        const auto grad_output = op.grad_output.as<T>();
        add_rows(stream.threads, grad_output, op.tokens.as<std::int32_t>().data, op.grad_token_table.as<T>());
        if (op.grad_position_table.is_present()) {
            add_rows(stream.threads, grad_output, op.positions.as<std::int32_t>().data,
                     op.grad_position_table.as<T>());
        }
    });
}

}  // namespace trireme
