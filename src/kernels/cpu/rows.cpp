#include "trireme/kernels/rows.hpp"

#include <algorithm>

#include "kernels/cpu/parallel.hpp"
#include "kernels/index_check.hpp"
#include "kernels/unindexed_fill.hpp"

namespace trireme::kernels {
namespace {

template <class T>
void gather(int threads, const GatherRows& op) {
    const auto input = op.input.as<T>();
    const std::int32_t* rows = op.rows.as<std::int32_t>().data;
    const auto output = op.output.as<T>();
    cpu::for_each_rows(threads, output.rows, output.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            std::copy_n(input.row(static_cast<std::size_t>(rows[i])), output.columns, output.row(i));
        }
    });
}

template <class T, class Write>
void scatter(int threads, const ScatterRows& op, const Write& write) {
    const auto input = op.input.as<T>();
    const std::int32_t* rows = op.rows.as<std::int32_t>().data;
    const auto output = op.output.as<T>();
    cpu::for_each_rows(threads, input.rows, input.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            const T* from = input.row(i);
            T* to = output.row(static_cast<std::size_t>(rows[i]));
#pragma omp simd
            for (std::size_t c = 0; c < input.columns; ++c) write(to[c], from[c]);
        }
    });
}

// Returns the values, one per column, that are written or added to each output row that op.rows does
// not list.
template <class T>
std::vector<T> make_unindexed_row(int threads, const ScatterRows& op) {
    const auto input = op.input.as<T>();
    std::vector<T> unindexed_row(input.columns);
    if (op.unindexed_fill != UnindexedFill::mean) return unindexed_row;
    cpu::for_each_columns(threads, input.rows, input.columns, [&](std::size_t begin, std::size_t end) {
        std::vector<double> sums(end - begin);
        for (std::size_t i = 0; i < input.rows; ++i) {
            const T* from = input.row(i) + begin;
#pragma omp simd
            for (std::size_t c = 0; c < end - begin; ++c) sums[c] += static_cast<double>(from[c]);
        }
        for (std::size_t c = begin; c < end; ++c)
            unindexed_row[c] = static_cast<T>(sums[c - begin] / static_cast<double>(input.rows));
    });
    return unindexed_row;
}

template <class T, class Write>
void fill_unindexed_rows(int threads, const ScatterRows& op, const Write& write) {
    const auto output = op.output.as<T>();
    const std::vector<std::size_t> rows = list_unindexed(op.rows, output.rows);
    const std::vector<T> unindexed_row = make_unindexed_row<T>(threads, op);
    cpu::for_each_rows(threads, rows.size(), output.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            T* to = output.row(rows[i]);
#pragma omp simd
            for (std::size_t c = 0; c < output.columns; ++c) write(to[c], unindexed_row[c]);
        }
    });
}

template <class From, class To>
void convert(const From* from, std::size_t count, To* to) {
#pragma omp simd
    for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<To>(from[i]);
}

template <class From, class To>
void copy(int threads, const Copy& op) {
    const auto input = op.input.as<From>();
    const auto output = op.output.as<To>();
    // Processes contiguous tensors as one long row, so that a tensor with one row also uses all threads.
    if (op.input.is_contiguous() && op.output.is_contiguous()) {
        return cpu::for_each_columns(threads, 1, op.output.size(), [&](std::size_t begin, std::size_t end) {
            convert(input.data + begin, end - begin, output.data + begin);
        });
    }
    cpu::for_each_rows(threads, output.rows, output.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) convert(input.row(r), output.columns, output.row(r));
    });
}

}  // namespace

void run(device::CpuStream& stream, const GatherRows& op) {
    check_indices(op);
    visit_float(op.output.dtype, [&](auto zero) { gather<decltype(zero)>(stream.threads, op); });
}

void run(device::CpuStream& stream, const ScatterRows& op) {
    check_indices(op);
    visit_float(op.output.dtype, [&]<class T>(T) {
        with_write(op.accumulate, [&](const auto& write) {
            scatter<T>(stream.threads, op, write);
            if (op.unindexed_fill != UnindexedFill::keep) fill_unindexed_rows<T>(stream.threads, op, write);
        });
    });
}

void run(device::CpuStream& stream, const Copy& op) {
    visit_float(op.input.dtype, [&](auto from) {
        device::visit_float(op.output.dtype,
                            [&](auto to) { copy<decltype(from), decltype(to)>(stream.threads, op); });
    });
}

}  // namespace trireme::kernels
