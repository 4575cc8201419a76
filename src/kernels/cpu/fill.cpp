#include "trireme/kernels/fill.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/philox.hpp"

namespace trireme::kernels {
namespace {

// Returns the tail 1 / n + s2 / (n + 2) + s2^2 / (n + 4) + ... of the series of atanh(s) / s, with s2 = s^2.
template <int n, int last>
inline double atanh_series(double s2) {
    if constexpr (n >= last) {
        return 1.0 / n;
    } else {
        return 1.0 / n + s2 * atanh_series<n + 2, last>(s2);
    }
}

// Returns the natural logarithm of a positive number that is not subnormal, without branches. x = 2^e m with m
// in [sqrt(1/2), sqrt(2)), and log m = 2 atanh((m - 1) / (m + 1)).
inline double logarithm(double x) {
    constexpr std::uint64_t root_half = std::bit_cast<std::uint64_t>(0.70710678118654752440);
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
    const std::uint64_t power = (bits - root_half) & 0xFFF0000000000000ULL;
    const double m = std::bit_cast<double>(bits - power);
    const double e = static_cast<double>(static_cast<std::int64_t>(power) >> 52);
    const double s = (m - 1) / (m + 1);
    return e * 0.69314718055994530942 + 2 * s * atanh_series<1, 19>(s * s);
}

// Returns 1 - x^2 / ((n+1)(n+2)) (1 - x^2 / ((n+3)(n+4)) (...)): cos(x) for n = 0, sin(x) / x for n = 1.
template <int n>
inline double circle_series(double x2) {
    if constexpr (n >= 18) {
        return 1;
    } else {
        return 1 - x2 * (1.0 / ((n + 1) * (n + 2))) * circle_series<n + 2>(x2);
    }
}

struct Point {
    double x;
    double y;
};

// Returns (cos, sin) of an angle of `turns` full turns. `turns` must be in [0, 1). Evaluates the series for at
// most 1/8 turn and rotates the point by quarter turns.
inline Point compute_circle_point(double turns) {
    const double quarters = std::floor(4 * turns + 0.5);
    const double angle = (turns - quarters * 0.25) * 6.28318530717958647693;
    const double c = circle_series<0>(angle * angle);
    const double s = angle * circle_series<1>(angle * angle);
    const bool is_odd = quarters == 1 || quarters == 3;
    const double x = is_odd ? s : c;
    const double y = is_odd ? c : s;
    return {quarters == 1 || quarters == 2 ? -x : x, quarters == 2 || quarters == 3 ? -y : y};
}

// Returns two independent normally distributed numbers. (Box and Muller, 1958)
inline Point make_normal_pair(std::uint32_t radius_word, std::uint32_t angle_word) {
    const double radius = std::sqrt(-2 * logarithm(to_open_unit_interval(radius_word)));
    const Point point = compute_circle_point(to_unit_interval(angle_word));
    return {radius * point.x, radius * point.y};
}

constexpr std::size_t batch_blocks = 256;  // random blocks per batch, each of four words
// Number of values of word 0 of the counter. A batch ends before word 0 overflows, so that the other words of
// the counter are constant in a batch.
constexpr std::size_t word_range = std::size_t{1} << 32;

// Normally distributed values of consecutive random blocks.
struct NormalBatch {
    std::uint32_t words[4 * batch_blocks];
    double values[4 * batch_blocks];

    void draw(RandomKey key, std::size_t first_block, std::size_t blocks) {
        const RandomBlock first{static_cast<std::uint32_t>(first_block),
                                static_cast<std::uint32_t>(first_block >> 32), 0, 0};
        cpu::draw_random_words(key, first, blocks, words);
#pragma omp simd
        for (std::size_t i = 0; i < 2 * blocks; ++i) {
            const Point pair = make_normal_pair(words[2 * i], words[2 * i + 1]);
            values[2 * i] = pair.x;
            values[2 * i + 1] = pair.y;
        }
    }
};

// output[i] = deviation * (element `first` + i of the key's random sequence), for i < count
template <class T>
void draw_normal(RandomKey key, std::size_t first, std::size_t count, double deviation, T* output) {
    NormalBatch batch;
    std::size_t drawn_count = 0;
    while (drawn_count < count) {
        const std::size_t skipped_count = (first + drawn_count) % 4;
        const std::size_t begin = (first + drawn_count) / 4;
        const std::size_t blocks = std::min(
            {batch_blocks, (skipped_count + count - drawn_count + 3) / 4, word_range - begin % word_range});
        batch.draw(key, begin, blocks);
        const std::size_t batch_count = std::min(4 * blocks - skipped_count, count - drawn_count);
        for (std::size_t i = 0; i < batch_count; ++i) {
            output[drawn_count + i] = static_cast<T>(deviation * batch.values[skipped_count + i]);
        }
        drawn_count += batch_count;
    }
}

template <class T>
void fill_normal(int threads, const FillNormal& op) {
    const auto output = op.output.as<T>();
    cpu::for_each_rows(threads, output.rows, output.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) {
            draw_normal(op.key, op.first_element + r * op.global_columns, output.columns, op.deviation,
                        output.row(r));
        }
    });
}

}  // namespace

void run(device::CpuStream& stream, const Fill& op) {
    visit_float(op.output.dtype, [&](auto zero) {
        using T = decltype(zero);
        const auto output = op.output.as<T>();
        cpu::for_each_rows(stream.threads, output.rows, output.columns,
                           [&](std::size_t begin, std::size_t end) {
                               for (std::size_t r = begin; r < end; ++r) {
                                   std::fill_n(output.row(r), output.columns, static_cast<T>(op.value));
                               }
                           });
    });
}

void run(device::CpuStream& stream, const FillNormal& op) {
    visit_float(op.output.dtype, [&](auto zero) { fill_normal<decltype(zero)>(stream.threads, op); });
}

}  // namespace trireme::kernels
