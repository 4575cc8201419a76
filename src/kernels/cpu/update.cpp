#include "trireme/kernels/update.hpp"

#include <cmath>
#include <vector>

#include "kernels/contiguous_parts.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/update_factors.hpp"

namespace trireme::kernels {
namespace {

// The range of each thread begins at a multiple of this number of elements, so that no two threads write to one
// cache line.
constexpr std::size_t range_alignment = 1024;

// The factors f are passed by value. If they were passed by reference, the compiler would have to assume that
// the stores to the tensors change the factors.
template <class T, class DecayOf, class Round>
void update_adamw(AdamWFactors<T> f, DecayOf decay_factor, Round round, std::size_t count, const T* gradient,
                  T* moment1, T* moment2, T* parameter) {
#pragma omp simd
    for (std::size_t i = 0; i < count; ++i) {
        const T g = f.scale * gradient[i];
        const T m1 = f.beta1 * moment1[i] + f.one_minus_beta1 * g;
        const T m2 = f.beta2 * moment2[i] + f.one_minus_beta2 * g * g;
        moment1[i] = m1;
        moment2[i] = m2;
        parameter[i] = decay_factor(i) * parameter[i] -
                       f.corrected_rate * m1 / (std::sqrt(m2 * f.inv_correction2) + f.epsilon);
        round(i, parameter[i]);
    }
}

// Calls use(decay_factor, round). decay_factor(i) is `decay` or, if op.decay_mask excludes element i,
// `no_decay`. round(i, value) stores `value` as element i of op.rounded_parameter, if that tensor is present.
template <class T, class Op, class Use>
void with_decay_and_rounding(const Op& op, T decay, T no_decay, Use&& use) {
    with_decay(op.decay_mask, decay, no_decay, [&](const auto& decay_factor) {
        with_rounding(op.rounded_parameter, [&](const auto& round) { use(decay_factor, round); });
    });
}

template <class T>
void update_adamw(int threads, const AdamWUpdate& op) {
    const AdamWFactors<T> factors(op);
    T* p = op.parameter.as<T>().data;
    T* m1 = op.moment1.as<T>().data;
    T* m2 = op.moment2.as<T>().data;
    const T* g = op.gradient.as<T>().data;
    with_decay_and_rounding(op, factors.decay, T{1}, [&](const auto& decay_factor, const auto& round) {
        cpu::for_each_range(threads, op.parameter.size(), cpu::min_elements_per_thread, range_alignment,
                            [&](std::size_t begin, std::size_t end) {
                                const auto own_decay = [=](std::size_t i) { return decay_factor(begin + i); };
                                const auto own_round = [=](std::size_t i, T value) { round(begin + i, value); };
                                update_adamw(factors, own_decay, own_round, end - begin, g + begin, m1 + begin,
                                             m2 + begin, p + begin);
                            });
    });
}

template <class T, class DecayOf, class Round>
void update_sgd(SgdFactors<T> f, DecayOf decay_factor, Round round, std::size_t begin, std::size_t end,
                const T* gradient, T* velocity, T* parameter) {
    if (velocity == nullptr) {
#pragma omp simd
        for (std::size_t i = begin; i < end; ++i) {
            parameter[i] -= f.rate * (f.scale * gradient[i] + decay_factor(i) * parameter[i]);
            round(i, parameter[i]);
        }
        return;
    }
#pragma omp simd
    for (std::size_t i = begin; i < end; ++i) {
        velocity[i] = f.momentum * velocity[i] + (f.scale * gradient[i] + decay_factor(i) * parameter[i]);
        parameter[i] -= f.rate * velocity[i];
        round(i, parameter[i]);
    }
}

template <class T>
void update_sgd(int threads, const SgdUpdate& op) {
    const SgdFactors<T> factors(op);
    T* p = op.parameter.as<T>().data;
    T* velocity = op.velocity.is_present() ? op.velocity.as<T>().data : nullptr;
    const T* gradient = op.gradient.as<T>().data;
    with_decay_and_rounding(op, factors.decay, T{0}, [&](const auto& decay_factor, const auto& round) {
        cpu::for_each_range(threads, op.parameter.size(), cpu::min_elements_per_thread, range_alignment,
                            [&](std::size_t begin, std::size_t end) {
                                update_sgd(factors, decay_factor, round, begin, end, gradient, velocity, p);
                            });
    });
}

constexpr std::size_t elements_per_sum = 65536;  // elements of one partial sum

template <class T>
double compute_sum_of_squares(const T* x, std::size_t count) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t i = 0; i < count; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    return sum;
}

template <class T>
double compute_sum_of_squares(int threads, const device::ConstTensor& input) {
    const T* x = input.as<T>().data;
    const std::size_t size = input.size();
    std::vector<double> sums((size + elements_per_sum - 1) / elements_per_sum);
    cpu::for_each_range(
        threads, size, cpu::min_elements_per_thread, elements_per_sum, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; i += elements_per_sum) {
                sums[i / elements_per_sum] = compute_sum_of_squares(x + i, std::min(elements_per_sum, end - i));
            }
        });
    double total = 0;
    for (const double sum : sums) total += sum;
    return total;
}

}  // namespace

void run(device::CpuStream& stream, const AdamWUpdate& op) {
    visit_float(op.parameter.dtype, [&](auto zero) {
        for_each_contiguous_part(
            op, [&](const AdamWUpdate& part) { update_adamw<decltype(zero)>(stream.threads, part); });
    });
}

void run(device::CpuStream& stream, const SgdUpdate& op) {
    visit_float(op.parameter.dtype, [&](auto zero) {
        for_each_contiguous_part(
            op, [&](const SgdUpdate& part) { update_sgd<decltype(zero)>(stream.threads, part); });
    });
}

void run(device::CpuStream& stream, const SumOfSquares& op) {
    visit_float(op.input.dtype, [&](auto zero) {
        double sum = 0;
        const std::size_t parts = count_contiguous_parts(op.input);
        for (std::size_t r = 0; r < parts; ++r)
            sum += compute_sum_of_squares<decltype(zero)>(stream.threads, get_part(op.input, parts, r));
        op.result.as<double>()[0] = sum;
    });
}

}  // namespace trireme::kernels
