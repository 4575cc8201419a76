#include <cmath>

#include "kernels/cpu/parallel.hpp"
#include "trireme/kernels/linear.hpp"

namespace trireme::kernels {
namespace {

template <class T>
double sum_absolute_differences(const T* a, const T* b, std::size_t count) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t i = 0; i < count; ++i)
        sum += std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    return sum;
}

// change[r] += sum over columns of |weight - old_weight| in row r. Each row is an input channel.
template <class T>
void add_row_change(int threads, const ChannelChange& op) {
    const auto weight = op.weight.as<T>();
    const auto old_weight = op.old_weight.as<T>();
    double* change = op.change.as<double>().data;
    cpu::for_each_rows(threads, weight.rows, weight.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r)
            change[r] += sum_absolute_differences(weight.row(r), old_weight.row(r), weight.columns);
    });
}

// change[c] += sum over rows of |weight - old_weight| in column c. Each column is an input channel.
template <class T>
void add_column_change(int threads, const ChannelChange& op) {
    const auto weight = op.weight.as<T>();
    const auto old_weight = op.old_weight.as<T>();
    double* change = op.change.as<double>().data;
    cpu::for_each_columns(threads, weight.rows, weight.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = 0; r < weight.rows; ++r) {
            const T* new_row = weight.row(r);
            const T* old_row = old_weight.row(r);
#pragma omp simd
            for (std::size_t c = begin; c < end; ++c)
                change[c] += std::abs(static_cast<double>(new_row[c]) - static_cast<double>(old_row[c]));
        }
    });
}

}  // namespace

void run(device::CpuStream& stream, const ChannelChange& op) {
    visit_float(op.weight.dtype, [&]<class T>(T) {
        if (op.axes == WeightAxes::in_out) {
            add_row_change<T>(stream.threads, op);
        } else {
            add_column_change<T>(stream.threads, op);
        }
    });
}

}  // namespace trireme::kernels
