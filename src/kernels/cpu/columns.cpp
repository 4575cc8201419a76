#include "trireme/kernels/columns.hpp"

#include "kernels/cpu/parallel.hpp"
#include "kernels/index_check.hpp"
#include "kernels/unindexed_fill.hpp"

namespace trireme::kernels {
namespace {

template <class T>
void gather(int threads, const GatherColumns& op) {
    const auto input = op.input.as<T>();
    const std::int32_t* columns = op.columns.as<std::int32_t>().data;
    const auto output = op.output.as<T>();
    cpu::for_each_rows(threads, output.rows, output.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) {
            const T* from = input.row(r);
            T* to = output.row(r);
            for (std::size_t i = 0; i < output.columns; ++i) to[i] = from[columns[i]];
        }
    });
}

template <class T>
T compute_mean(const T* values, std::size_t count) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t i = 0; i < count; ++i) sum += static_cast<double>(values[i]);
    return static_cast<T>(sum / static_cast<double>(count));
}

// write(element, value) stores or adds the value. It is also called with a fill value for the output columns
// that op.columns does not list, unless op.unindexed_fill is `keep`.
template <class T, class Write>
void scatter(int threads, const ScatterColumns& op, const Write& write) {
    const auto input = op.input.as<T>();
    const std::int32_t* columns = op.columns.as<std::int32_t>().data;
    const auto output = op.output.as<T>();
    const std::vector<std::size_t> unindexed_columns = op.unindexed_fill == UnindexedFill::keep
                                                           ? std::vector<std::size_t>{}
                                                           : list_unindexed(op.columns, output.columns);
    cpu::for_each_rows(threads, output.rows, output.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) {
            const T* from = input.row(r);
            T* to = output.row(r);
            for (std::size_t i = 0; i < input.columns; ++i) write(to[columns[i]], from[i]);
            const T fill_value =
                op.unindexed_fill == UnindexedFill::mean ? compute_mean(from, input.columns) : T{0};
            for (const std::size_t column : unindexed_columns) write(to[column], fill_value);
        }
    });
}

}  // namespace

void run(device::CpuStream& stream, const GatherColumns& op) {
    check_indices(op);
    visit_float(op.output.dtype, [&](auto zero) { gather<decltype(zero)>(stream.threads, op); });
}

void run(device::CpuStream& stream, const ScatterColumns& op) {
    check_indices(op);
    visit_float(op.output.dtype, [&](auto zero) {
        with_write(op.accumulate,
                   [&](const auto& write) { scatter<decltype(zero)>(stream.threads, op, write); });
    });
}

}  // namespace trireme::kernels
