// Reference implementation: one element at a time, means in double.
#include "trireme/kernels/columns.hpp"

#include "kernels/index_check.hpp"
#include "kernels/unindexed_fill.hpp"

namespace trireme::kernels {
namespace {

template <class T>
void gather(const GatherColumns& op) {
    const auto input = op.input.as<T>();
    const auto columns = op.columns.as<std::int32_t>();
    const auto output = op.output.as<T>();
    for (std::size_t r = 0; r < output.rows; ++r) {
        for (std::size_t i = 0; i < output.columns; ++i)
            output(r, i) = input(r, static_cast<std::size_t>(columns[i]));
    }
}

template <class T>
T compute_row_mean(const device::Elements<const T>& input, std::size_t row) {
    double sum = 0;
    for (std::size_t i = 0; i < input.columns; ++i) sum += input(row, i);
    return static_cast<T>(sum / static_cast<double>(input.columns));
}

template <class T, class Write>
void scatter(const ScatterColumns& op, const Write& write) {
    const auto input = op.input.as<T>();
    const auto columns = op.columns.as<std::int32_t>();
    const auto output = op.output.as<T>();
    for (std::size_t r = 0; r < input.rows; ++r) {
        for (std::size_t i = 0; i < input.columns; ++i)
            write(output(r, static_cast<std::size_t>(columns[i])), input(r, i));
        if (op.unindexed_fill == UnindexedFill::keep) continue;
        const T fill_value = op.unindexed_fill == UnindexedFill::mean ? compute_row_mean<T>(input, r) : T{0};
        for (const std::size_t column : list_unindexed(op.columns, output.columns))
            write(output(r, column), fill_value);
    }
}

}  // namespace

void run(device::ReferenceStream&, const GatherColumns& op) {
    check_indices(op);
    visit_float(op.output.dtype, [&](auto zero) { gather<decltype(zero)>(op); });
}

void run(device::ReferenceStream&, const ScatterColumns& op) {
    check_indices(op);
    visit_float(op.output.dtype, [&](auto zero) {
        with_write(op.accumulate, [&](const auto& write) { scatter<decltype(zero)>(op, write); });
    });
}

}  // namespace trireme::kernels
