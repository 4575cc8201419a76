// Reference implementation: one element at a time.

#include "trireme/kernels/fill.hpp"

#include <array>
#include <cmath>
#include <numbers>

#include "trireme/base/random.hpp"

namespace trireme::kernels {
namespace {

// Returns two independent normal numbers with mean 0 and standard deviation 1. (Box and Muller, 1958)
inline std::array<double, 2> make_normal_pair(std::uint32_t word0, std::uint32_t word1) {
    const double radius = std::sqrt(-2 * std::log(to_open_unit_interval(word0)));
    const double angle = 2 * std::numbers::pi * to_unit_interval(word1);
    return {radius * std::cos(angle), radius * std::sin(angle)};
}

// Returns the elements 4 * block .. 4 * block + 3 (inclusive) of the key's sequence of normal numbers.
inline std::array<double, 4> make_normal_block(RandomKey key, std::uint64_t block) {
    const RandomBlock words = random_block(key, block);
    const auto first = make_normal_pair(words[0], words[1]);
    const auto second = make_normal_pair(words[2], words[3]);
    return {first[0], first[1], second[0], second[1]};
}

template <class T>
void fill(const Fill& op) {
    const auto output = op.output.as<T>();
    for (std::size_t r = 0; r < output.rows; ++r) {
        for (std::size_t c = 0; c < output.columns; ++c) output(r, c) = static_cast<T>(op.value);
    }
}

template <class T>
void fill_normal(const FillNormal& op) {
    const auto output = op.output.as<T>();
    for (std::size_t r = 0; r < output.rows; ++r) {
        for (std::size_t c = 0; c < output.columns; ++c) {
            const std::size_t element = op.first_element + r * op.global_columns + c;
            output(r, c) = static_cast<T>(op.deviation * make_normal_block(op.key, element / 4)[element % 4]);
        }
    }
}

}  // namespace

void run(device::ReferenceStream&, const Fill& op) {
    visit_float(op.output.dtype, [&](auto zero) { fill<decltype(zero)>(op); });
}

void run(device::ReferenceStream&, const FillNormal& op) {
    visit_float(op.output.dtype, [&](auto zero) { fill_normal<decltype(zero)>(op); });
}

}  // namespace trireme::kernels
