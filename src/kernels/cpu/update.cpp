#include "trireme/kernels/update.hpp"

#include <cmath>
#include <vector>

#include "parallel.hpp"

namespace trireme {
namespace {

// Work on one core before another one is worth waking; a multiple of the cache line.
constexpr std::size_t step = 1024;

template <class T>
void adamw(int threads, const AdamWUpdate& op) {
    const double count = static_cast<double>(op.step);
    const double correction1 = 1 - std::pow(op.beta1, count);
    const double correction2 = 1 - std::pow(op.beta2, count);
    const T scale = static_cast<T>(op.gradient_scale);
    const T beta1 = static_cast<T>(op.beta1);
    const T beta2 = static_cast<T>(op.beta2);
    const T rest1 = static_cast<T>(1 - op.beta1);
    const T rest2 = static_cast<T>(1 - op.beta2);
    const T rate = static_cast<T>(op.rate / correction1);
    const T inv_correction2 = static_cast<T>(1 / correction2);
    const T epsilon = static_cast<T>(op.epsilon);
    const T decay = static_cast<T>(1 - op.rate * op.weight_decay);
    T* p = op.parameter.as<T>().data;
    T* m1 = op.moment1.as<T>().data;
    T* m2 = op.moment2.as<T>().data;
    const T* gradient = op.gradient.as<T>().data;
    cpu::for_each_range(
        threads, op.parameter.size(), cpu::elements_per_thread, step, [=](std::size_t begin, std::size_t end) {
#pragma omp simd
            for (std::size_t i = begin; i < end; ++i) {
                const T g = scale * gradient[i];
                m1[i] = beta1 * m1[i] + rest1 * g;
                m2[i] = beta2 * m2[i] + rest2 * g * g;
                p[i] = decay * p[i] - rate * m1[i] / (std::sqrt(m2[i] * inv_correction2) + epsilon);
            }
        });
}

template <class T>
void sgd(int threads, const SgdUpdate& op) {
    const T scale = static_cast<T>(op.gradient_scale);
    const T decay = static_cast<T>(op.weight_decay);
    const T rate = static_cast<T>(op.rate);
    const T momentum = static_cast<T>(op.momentum);
    T* p = op.parameter.as<T>().data;
    T* velocity = op.velocity.is_present() ? op.velocity.as<T>().data : nullptr;
    const T* gradient = op.gradient.as<T>().data;
    cpu::for_each_range(threads, op.parameter.size(), cpu::elements_per_thread, step,
                        [=](std::size_t begin, std::size_t end) {
                            if (velocity == nullptr) {
#pragma omp simd
                                for (std::size_t i = begin; i < end; ++i)
                                    p[i] -= rate * (scale * gradient[i] + decay * p[i]);
                                return;
                            }
#pragma omp simd
                            for (std::size_t i = begin; i < end; ++i) {
                                velocity[i] = momentum * velocity[i] + (scale * gradient[i] + decay * p[i]);
                                p[i] -= rate * velocity[i];
                            }
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
double sum_of_squares(int threads, const ConstTensor& input) {
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

void run(CpuStream& stream, const AdamWUpdate& op) {
    visit_float(op.parameter.dtype, [&](auto zero) { adamw<decltype(zero)>(stream.threads, op); });
}

void run(CpuStream& stream, const SgdUpdate& op) {
    visit_float(op.parameter.dtype, [&](auto zero) { sgd<decltype(zero)>(stream.threads, op); });
}

void run(CpuStream& stream, const SumOfSquares& op) {
    visit_float(op.input.dtype, [&](auto zero) {
        op.result.as<double>()[0] = sum_of_squares<decltype(zero)>(stream.threads, op.input);
    });
}

}  // namespace trireme
