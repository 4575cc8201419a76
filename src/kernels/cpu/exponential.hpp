// The exponential function, written so that a loop over it vectorises.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace trireme::kernels::cpu {

template <class T>
struct ExponentialConstants;

// ln 2 = ln2_high + ln2_low, where ln2_high has so few digits that its product with an exponent is exact.
template <>
struct ExponentialConstants<float> {
    using Bits = std::uint32_t;
    static constexpr int mantissa_bits = 23;
    static constexpr int degree = 7;  // of the series; the first omitted term, 0.35^8 / 8!, is below 1e-8
    static constexpr float ln2_high = 0x1.62ep-1F;
    static constexpr float ln2_low = 0x1.0bfbe8p-15F;
    static constexpr float min_argument = -87.33F;  // below it, the result would be subnormal and becomes 0
    static constexpr float max_argument = 88.37F;   // above it, 2^n would overflow; the result becomes infinite
};

template <>
struct ExponentialConstants<double> {
    using Bits = std::uint64_t;
    static constexpr int mantissa_bits = 52;
    static constexpr int degree = 13;  // 0.35^14 / 14! is below 1e-17
    static constexpr double ln2_high = 0x1.62e42feep-1;
    static constexpr double ln2_low = 0x1.a39ef35793c76p-33;
    static constexpr double min_argument = -708.39;
    static constexpr double max_argument = 709.43;
};

// Returns the tail 1 / n! + x / (n + 1)! + ... + x^(degree - n) / degree! of the exponential series, by
// Horner's rule; `factorial` is n!. The function is recursive, because an inner loop would keep the caller's
// loop from vectorising.
template <int n, int degree, class T>
inline T exponential_series(T x, double factorial = 1) {
    const T coefficient = static_cast<T>(1 / factorial);
    if constexpr (n == degree) {
        return coefficient;
    } else {
        return coefficient + x * exponential_series<n + 1, degree>(x, factorial * (n + 1));
    }
}

// An argument x = n ln 2 + rest with an integer n and |rest| <= ln 2 / 2. exp(x) = power exp(rest).
template <class T>
struct ReducedExponent {
    T power;  // 2^n
    T rest;
};

template <class T>
inline ReducedExponent<T> reduce_exponent(T x) {
    using Constants = ExponentialConstants<T>;
    using Bits = typename Constants::Bits;
    constexpr T log2_e = static_cast<T>(1.44269504088896340736);
    // Adding this constant to a number leaves the rounded number in the lowest bits of the sum.
    constexpr T rounder = static_cast<T>(3) * static_cast<T>(Bits{1} << (Constants::mantissa_bits - 1));
    const T shifted = x * log2_e + rounder;
    const T n = shifted - rounder;
    const T rest = (x - n * Constants::ln2_high) - n * Constants::ln2_low;
    const Bits exponent = std::bit_cast<Bits>(shifted) << Constants::mantissa_bits;
    return {std::bit_cast<T>(exponent + std::bit_cast<Bits>(T{1})), rest};
}

// Returns exp(x) with a relative error of about one unit in the last place; NaN for NaN.
template <class T>
inline T exponential(T x) {
    using Constants = ExponentialConstants<T>;
    const auto [power, rest] = reduce_exponent(x);
    const T result = exponential_series<0, Constants::degree>(rest) * power;
    const T bounded = x > Constants::max_argument ? std::numeric_limits<T>::infinity() : result;
    return x < Constants::min_argument ? T{0} : bounded;
}

// Returns exp(x) - 1 with a relative error of a few units in the last place, for |x| <= 80; NaN for NaN.
template <class T>
inline T exponential_minus_one(T x) {
    const auto [power, rest] = reduce_exponent(x);
    return rest * exponential_series<1, ExponentialConstants<T>::degree>(rest) * power + (power - 1);
}

}  // namespace trireme::kernels::cpu
