#include "trireme/kernels/peak.hpp"

#include <algorithm>
#include <array>

#include "kernels/cpu/tile.hpp"
#include "trireme/device/clock.hpp"

namespace trireme::kernels {
namespace {

// Enough independent sums to hide the latency of a fused multiply-add, few enough to stay in registers.
constexpr std::size_t sum_count = 12;
constexpr std::size_t round_count = 1 << 22;  // rounds per run: about 10 ms, like a time slice of the OS

template <class T>
struct Vector {
    typedef T Lanes __attribute__((vector_size(cpu::vector_bytes)));
};

// Repeats sum = sum * factor + addend in every lane of every sum. Returns a result that depends on all sums, so
// that the compiler does not remove any of them.
template <class T>
double multiply_and_add(T factor) {
    using Lanes = typename Vector<T>::Lanes;
    std::array<Lanes, sum_count> values;  // different values, or the compiler would keep only one
    for (std::size_t i = 0; i < sum_count; ++i) values[i] = Lanes{} + static_cast<T>(i);
    const Lanes factors = Lanes{} + factor;
    const Lanes addends = Lanes{} + static_cast<T>(1e-3);
    for (std::size_t round = 0; round < round_count; ++round) {
#pragma GCC unroll 12
        for (std::size_t i = 0; i < sum_count; ++i) values[i] = values[i] * factors + addends;
    }
    Lanes total{};
    for (const Lanes& value : values) total += value;
    return static_cast<double>(total[0]);
}

template <class T>
double measure_type_peak(int threads, std::size_t runs) {
    constexpr double flops_per_run = 2.0 * sum_count * round_count * cpu::lanes<T>;
    double best = 0;
    double checksum = 0;
    for (std::size_t run = 0; run < runs; ++run) {
        const double begin = device::now_seconds();
#pragma omp parallel for num_threads(threads) reduction(+ : checksum)
        for (int thread = 0; thread < threads; ++thread) checksum += multiply_and_add(static_cast<T>(0.999));
        best = std::max(best, flops_per_run * threads / (device::now_seconds() - begin));
    }
    return checksum > 0 ? best : 0;  // always `best`; keeps the compiler from removing the arithmetic
}

}  // namespace

double measure_peak_flops(device::DType dtype, int threads, std::size_t runs) {
    double peak = 0;
    visit_float(dtype, [&](auto zero) { peak = measure_type_peak<decltype(zero)>(threads, runs); });
    return peak;
}

}  // namespace trireme::kernels
