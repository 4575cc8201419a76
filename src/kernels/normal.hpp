// The normally distributed numbers behind FillNormal, shared so that every backend makes the same ones.
#pragma once

#include <array>
#include <cmath>
#include <numbers>

#include "trireme/base/random.hpp"

namespace trireme {

// Two independent numbers of mean 0 and deviation 1 from two random words. (Box and Muller, 1958)
inline std::array<double, 2> normal_pair(std::uint32_t word0, std::uint32_t word1) {
    const double radius = std::sqrt(-2 * std::log(open_unit_interval(word0)));
    const double angle = 2 * std::numbers::pi * unit_interval(word1);
    return {radius * std::cos(angle), radius * std::sin(angle)};
}

// Elements 4 block .. 4 block + 3 of the stream that `key` names.
inline std::array<double, 4> normal_block(RandomKey key, std::uint64_t block) {
    const RandomBlock words = random_block(key, block);
    const auto first = normal_pair(words[0], words[1]);
    const auto second = normal_pair(words[2], words[3]);
    return {first[0], first[1], second[0], second[1]};
}

}  // namespace trireme
