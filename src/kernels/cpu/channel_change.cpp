#include <cmath>

#include "kernels/cpu/parallel.hpp"
#include "trireme/kernels/linear.hpp"

namespace trireme::kernels {
namespace {

template <class T>
double distance(const T* a, const T* b, std::size_t count) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t i = 0; i < count; ++i)
        sum += std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    return sum;
}

// Change per row of the weight: each input channel is a row.
template <class T>
void change_of_rows(int threads, const ChannelChange& op) {
    const auto weight = op.weight.as<T>();
    const auto before = op.before.as<T>();
    double* change = op.change.as<double>().data;
    cpu::for_each_rows(threads, weight.rows, weight.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r)
            change[r] += distance(weight.row(r), before.row(r), weight.columns);
    });
}

// Change per column of the weight: each input channel is a column.
template <class T>
void change_of_columns(int threads, const ChannelChange& op) {
    const auto weight = op.weight.as<T>();
    const auto before = op.before.as<T>();
    double* change = op.change.as<double>().data;
    cpu::for_each_columns(threads, weight.rows, weight.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = 0; r < weight.rows; ++r) {
            const T* now = weight.row(r);
            const T* then = before.row(r);
#pragma omp simd
            for (std::size_t c = begin; c < end; ++c)
                change[c] += std::abs(static_cast<double>(now[c]) - static_cast<double>(then[c]));
        }
    });
}

}  // namespace

void run(device::CpuStream& stream, const ChannelChange& op) {
    visit_float(op.weight.dtype, [&]<class T>(T) {
        if (op.axes == WeightAxes::in_out) {
            change_of_rows<T>(stream.threads, op);
        } else {
            change_of_columns<T>(stream.threads, op);
        }
    });
}

}  // namespace trireme::kernels
