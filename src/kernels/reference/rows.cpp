// Reference implementation: one element at a time.
#include "trireme/kernels/rows.hpp"

#include "kernels/index_check.hpp"
#include "kernels/unindexed_fill.hpp"

namespace trireme::kernels {
namespace {

template <class T>
void gather(const GatherRows& op) {
    const auto input = op.input.as<T>();
    const auto rows = op.rows.as<std::int32_t>();
    const auto output = op.output.as<T>();
    for (std::size_t i = 0; i < output.rows; ++i) {
        const auto row = static_cast<std::size_t>(rows[i]);
        for (std::size_t c = 0; c < output.columns; ++c) output(i, c) = input(row, c);
    }
}

template <class T>
T compute_column_mean(const device::Elements<const T>& input, std::size_t column) {
    double sum = 0;
    for (std::size_t i = 0; i < input.rows; ++i) sum += input(i, column);
    return static_cast<T>(sum / static_cast<double>(input.rows));
}

template <class T, class Write>
void scatter(const ScatterRows& op, const Write& write) {
    const auto input = op.input.as<T>();
    const auto rows = op.rows.as<std::int32_t>();
    const auto output = op.output.as<T>();
    for (std::size_t i = 0; i < input.rows; ++i) {
        const auto row = static_cast<std::size_t>(rows[i]);
        for (std::size_t c = 0; c < input.columns; ++c) write(output(row, c), input(i, c));
    }
    if (op.unindexed_fill == UnindexedFill::keep) return;
    for (std::size_t c = 0; c < input.columns; ++c) {
        const T fill_value = op.unindexed_fill == UnindexedFill::mean ? compute_column_mean<T>(input, c) : T{0};
        for (const std::size_t row : list_unindexed(op.rows, output.rows)) write(output(row, c), fill_value);
    }
}

template <class From, class To>
void copy(const Copy& op) {
    const auto input = op.input.as<From>();
    const auto output = op.output.as<To>();
    for (std::size_t r = 0; r < output.rows; ++r) {
        for (std::size_t c = 0; c < output.columns; ++c) output(r, c) = static_cast<To>(input(r, c));
    }
}

}  // namespace

void run(device::ReferenceStream&, const GatherRows& op) {
    check_indices(op);
    visit_float(op.output.dtype, [&](auto zero) { gather<decltype(zero)>(op); });
}

void run(device::ReferenceStream&, const ScatterRows& op) {
    check_indices(op);
    visit_float(op.output.dtype, [&](auto zero) {
        with_write(op.accumulate, [&](const auto& write) { scatter<decltype(zero)>(op, write); });
    });
}

void run(device::ReferenceStream&, const Copy& op) {
    visit_float(op.input.dtype, [&](auto from) {
        device::visit_float(op.output.dtype, [&](auto to) { copy<decltype(from), decltype(to)>(op); });
    });
}

}  // namespace trireme::kernels
