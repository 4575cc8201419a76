// Sine and cosine of an angle, computed together, in code that vectorises in a loop over angles.
#pragma once

#include <bit>
#include <cstdint>

namespace trireme::kernels::cpu {

// pi / 2 as a sum of three numbers. The first two have few digits. Multiplying one of them by a number
// of quarter turns below 2^31 is exact, and so is subtracting the result from an angle. (Cody and Waite, 1980)
inline constexpr double quarter_high = 0x1.921fbp0;
inline constexpr double quarter_middle = 0x1.5110bp-22;
inline constexpr double quarter_low = 0x1.18469898cc517p-44;

struct SineCosine {
    double sine;
    double cosine;
};

// Returns the series 1 / n! - s / (n + 2)! + s^2 / (n + 4)! - ... up to the term with 1 / last!, with s the
// square of an angle and `factorial` = n!. The function is recursive, because an inner loop would keep the
// caller's loop from vectorising.
template <int n, int last>
inline double alternating_series(double s, double factorial = 1) {
    if constexpr (n == last) {
        return 1 / factorial;
    } else {
        return 1 / factorial - s * alternating_series<n + 2, last>(s, factorial * (n + 1) * (n + 2));
    }
}

// Returns sine and cosine of an angle below 2^31 in magnitude, with an absolute error below 2e-16.
inline SineCosine compute_sine_cosine(double angle) {
    constexpr double quarters_per_radian = 0.63661977236758134308;  // 2 / pi
    constexpr double rounder = 0x1.8p52;  // adding it leaves the rounded number in the lowest bits
    const double shifted = angle * quarters_per_radian + rounder;
    const double quarters = shifted - rounder;
    const double rest =
        ((angle - quarters * quarter_high) - quarters * quarter_middle) - quarters * quarter_low;
    const double square = rest * rest;
    const double sine = rest * alternating_series<1, 17>(square);  // omits (pi / 4)^19 / 19! < 1e-19
    const double cosine = alternating_series<0, 16>(square);       // omits (pi / 4)^18 / 18! < 1e-17

    // The lowest two bits count the quarter turns. An odd number of quarter turns exchanges sine and cosine.
    const auto quarter_bits = std::bit_cast<std::uint64_t>(shifted);
    const bool is_odd = (quarter_bits & 1) != 0;
    const std::uint64_t sine_sign = (quarter_bits & 2) << 62;
    const std::uint64_t cosine_sign = ((quarter_bits + 1) & 2) << 62;
    return {std::bit_cast<double>(std::bit_cast<std::uint64_t>(is_odd ? cosine : sine) ^ sine_sign),
            std::bit_cast<double>(std::bit_cast<std::uint64_t>(is_odd ? sine : cosine) ^ cosine_sign)};
}

}  // namespace trireme::kernels::cpu
