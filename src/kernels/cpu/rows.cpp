#include "trireme/kernels/rows.hpp"

#include <algorithm>

#include "kernels/cpu/parallel.hpp"
#include "kernels/index_check.hpp"

namespace trireme {
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

template <class T>
void scatter(int threads, const ScatterRows& op) {
    const auto input = op.input.as<T>();
    const std::int32_t* rows = op.rows.as<std::int32_t>().data;
    const auto output = op.output.as<T>();
    cpu::for_each_rows(threads, input.rows, input.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            std::copy_n(input.row(i), input.columns, output.row(static_cast<std::size_t>(rows[i])));
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
    if (op.input.is_contiguous() && op.output.is_contiguous()) {  // a long vector has work for all threads, too
        return cpu::for_each_columns(threads, 1, op.output.size(), [&](std::size_t begin, std::size_t end) {
            convert(input.data + begin, end - begin, output.data + begin);
        });
    }
    cpu::for_each_rows(threads, output.rows, output.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) convert(input.row(r), output.columns, output.row(r));
    });
}

}  // namespace

void run(CpuStream& stream, const GatherRows& op) {
    check_indices(op);
    visit_float(op.output.dtype, [&](auto zero) { gather<decltype(zero)>(stream.threads, op); });
}

void run(CpuStream& stream, const ScatterRows& op) {
    check_indices(op);
    visit_float(op.output.dtype, [&](auto zero) { scatter<decltype(zero)>(stream.threads, op); });
}

void run(CpuStream& stream, const Copy& op) {
    visit_float(op.input.dtype, [&](auto from) {
        visit_float(op.output.dtype, [&](auto to) { copy<decltype(from), decltype(to)>(stream.threads, op); });
    });
}

}  // namespace trireme
