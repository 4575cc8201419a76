#include "trireme/kernels/update.hpp"

#include <cmath>
#include <vector>

#include "kernels/cpu/parallel.hpp"
#include "kernels/row_parts.hpp"
#include "kernels/update_factors.hpp"

namespace trireme::kernels {
namespace {

// The range of a thread begins at a multiple of this, so that no two threads share a cache line.
constexpr std::size_t step = 1024;

// The factors are passed by value: in memory, the compiler would have to assume that the stores change them.
template <class T, class DecayOf, class Round>
void adamw(AdamWFactors<T> f, DecayOf decay_of, Round round, std::size_t count, const T* gradient, T* moment1,
           T* moment2, T* parameter) {
#pragma omp simd
    for (std::size_t i = 0; i < count; ++i) {
        const T g = f.scale * gradient[i];
        const T m1 = f.beta1 * moment1[i] + f.rest1 * g;
        const T m2 = f.beta2 * moment2[i] + f.rest2 * g * g;
        moment1[i] = m1;
        moment2[i] = m2;
        parameter[i] =
            decay_of(i) * parameter[i] - f.rate * m1 / (std::sqrt(m2 * f.inv_correction2) + f.epsilon);
        round(i, parameter[i]);
    }
}

// Calls use(decay_of, round); combines with_decay() and with_rounding().
template <class T, class Op, class Use>
void with_both(const Op& op, T decay, T none, Use&& use) {
    with_decay(op.decaying, decay, none, [&](const auto& decay_of) {
        with_rounding(op.rounded, [&](const auto& round) { use(decay_of, round); });
    });
}

template <class T>
void adamw(int threads, const AdamWUpdate& op) {
    const AdamWFactors<T> factors(op);
    T* p = op.parameter.as<T>().data;
    T* m1 = op.moment1.as<T>().data;
    T* m2 = op.moment2.as<T>().data;
    const T* g = op.gradient.as<T>().data;
    with_both(op, factors.decay, T{1}, [&](const auto& decay_of, const auto& round) {
        cpu::for_each_range(threads, op.parameter.size(), cpu::elements_per_thread, step,
                            [&](std::size_t begin, std::size_t end) {
                                const auto own_decay = [=](std::size_t i) { return decay_of(begin + i); };
                                const auto own_round = [=](std::size_t i, T value) { round(begin + i, value); };
                                adamw(factors, own_decay, own_round, end - begin, g + begin, m1 + begin,
                                      m2 + begin, p + begin);
                            });
    });
}

template <class T, class DecayOf, class Round>
void sgd(SgdFactors<T> f, DecayOf decay_of, Round round, std::size_t begin, std::size_t end, const T* gradient,
         T* velocity, T* parameter) {
    if (velocity == nullptr) {
#pragma omp simd
        for (std::size_t i = begin; i < end; ++i) {
            parameter[i] -= f.rate * (f.scale * gradient[i] + decay_of(i) * parameter[i]);
            round(i, parameter[i]);
        }
        return;
    }
#pragma omp simd
    for (std::size_t i = begin; i < end; ++i) {
        velocity[i] = f.momentum * velocity[i] + (f.scale * gradient[i] + decay_of(i) * parameter[i]);
        parameter[i] -= f.rate * velocity[i];
        round(i, parameter[i]);
    }
}

template <class T>
void sgd(int threads, const SgdUpdate& op) {
    const SgdFactors<T> factors(op);
    T* p = op.parameter.as<T>().data;
    T* velocity = op.velocity.is_present() ? op.velocity.as<T>().data : nullptr;
    const T* gradient = op.gradient.as<T>().data;
    with_both(op, factors.decay, T{0}, [&](const auto& decay_of, const auto& round) {
        cpu::for_each_range(threads, op.parameter.size(), cpu::elements_per_thread, step,
                            [&](std::size_t begin, std::size_t end) {
                                sgd(factors, decay_of, round, begin, end, gradient, velocity, p);
                            });
    });
}

constexpr std::size_t chunk = 65536;  // elements of one partial sum

template <class T>
double sum_of_squares(const T* x, std::size_t count) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t i = 0; i < count; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    return sum;
}

template <class T>
double sum_of_squares(int threads, const device::ConstTensor& input) {
    const T* x = input.as<T>().data;
    const std::size_t size = input.size();
    std::vector<double> sums((size + chunk - 1) / chunk);
    cpu::for_each_range(threads, size, cpu::elements_per_thread, chunk,
                        [&](std::size_t begin, std::size_t end) {
                            for (std::size_t i = begin; i < end; i += chunk) {
                                sums[i / chunk] = sum_of_squares(x + i, std::min(chunk, end - i));
                            }
                        });
    double total = 0;
    for (const double sum : sums) total += sum;
    return total;
}

}  // namespace

void run(device::CpuStream& stream, const AdamWUpdate& op) {
    visit_float(op.parameter.dtype, [&](auto zero) {
        for_each_part(op, [&](const AdamWUpdate& part) { adamw<decltype(zero)>(stream.threads, part); });
    });
}

void run(device::CpuStream& stream, const SgdUpdate& op) {
    visit_float(op.parameter.dtype, [&](auto zero) {
        for_each_part(op, [&](const SgdUpdate& part) { sgd<decltype(zero)>(stream.threads, part); });
    });
}

void run(device::CpuStream& stream, const SumOfSquares& op) {
    visit_float(op.input.dtype, [&](auto zero) {
        double sum = 0;
        const std::size_t parts = parts_of(op.input);
        for (std::size_t r = 0; r < parts; ++r)
            sum += sum_of_squares<decltype(zero)>(stream.threads, part_of(op.input, parts, r));
        op.result.as<double>()[0] = sum;
    });
}

}  // namespace trireme::kernels
