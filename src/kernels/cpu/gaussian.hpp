// The normal distribution function, written so that a loop over it vectorises.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>

#include "kernels/cpu/exponential.hpp"

namespace trireme::kernels::cpu {

// Coefficients of a polynomial of u = (a - 4) / (a + 4), with u in [-1, 1), from the constant term up. The
// polynomial approximates the smooth function (a + 4) exp(a^2 / 2) Q(a), where Q(a) is the tail probability of
// the normal distribution beyond a >= 0. The polynomial is the function's Chebyshev series, truncated at a
// relative error of 4e-8 (float) and 1e-16 (double). (Shepherd and Laframboise, 1981, who map the argument of
// erfc in this way)
template <class T>
struct TailConstants;

template <>
struct TailConstants<float> {
    static constexpr float coefficients[] = {0.7552851305F,     -0.6078966314F,   0.3871373939F,
                                             -0.1865221598F,    0.06039664828F,   -0.00753771716F,
                                             -0.003479954637F,  0.001622040106F,  0.0001336533871F,
                                             -0.0002155737763F, -1.731082301e-6F, 2.118298426e-5F};
};

template <>
struct TailConstants<double> {
    static constexpr double coefficients[] = {
        0.755285130415751451,    -0.607896641971892958,    0.387137400742226602,    -0.186521857959578716,
        0.0603965748903609184,   -0.00754018896889161899,  -0.00347969235665150262, 0.00163081848547358572,
        0.000133344209160147793, -0.000231095137787289336, -1.90767603071909815e-6, 0.0000351456023590445148,
        7.14602153126746174e-7,  -5.92289377754192813e-6,  -6.24955107756517786e-7, 1.02698407014319295e-6,
        2.64733728197986783e-7,  -1.62231632085356706e-7,  -7.87836034269363778e-8, 1.95696089399740486e-8,
        1.60673869573294018e-8,  -1.27723514329577201e-9,  -1.68865769667867349e-9};
};

// Evaluates coefficients[n] + coefficients[n + 1] x + ... by Horner's rule. The function is recursive for the
// reason that exponential_series() states.
template <std::size_t n, class T, std::size_t size>
inline T evaluate_polynomial(const T (&coefficients)[size], T x) {
    if constexpr (n + 1 == size) {
        return coefficients[n];
    } else {
        return coefficients[n] + x * evaluate_polynomial<n + 1>(coefficients, x);
    }
}

// Returns the rounding error of x * x: the exact square minus the rounded square. A rounding error e changes
// exp(-x * x) by a relative error of the same size. x is split into high and low digits: the square of the high
// digits is exact, and the other terms are small. (Dekker, 1971)
template <class T>
inline T compute_square_error(T x) {
    using Bits = typename ExponentialConstants<T>::Bits;
    constexpr Bits low_half = (Bits{1} << (ExponentialConstants<T>::mantissa_bits / 2 + 1)) - 1;
    const T high = std::bit_cast<T>(std::bit_cast<Bits>(x) & ~low_half);
    const T low = x - high;
    return (high * high - x * x) + low * (x + high);
}

// Values of the standard normal distribution at x.
template <class T>
struct Gaussian {
    T bell;  // exp(-x^2 / 2): sqrt(2 pi) times the density
    T cdf;   // probability below x: (1 + erf(x / sqrt(2))) / 2
};

// Returns both values with a relative error of a few units in the last place, also far below zero; NaN for NaN.
template <class T>
inline Gaussian<T> evaluate_gaussian(T x) {
    constexpr T max_magnitude = 40;  // beyond it, the bell is 0 in both precisions
    constexpr T center = 4;          // the 4 of u = (a - 4) / (a + 4)
    const T magnitude = std::abs(x);
    const T a = magnitude > max_magnitude ? max_magnitude : magnitude;
    const T bell = exponential(a * a / -2) * (1 - compute_square_error(a) / 2);
    const T scale = 1 / (a + center);
    const T tail = bell * scale * evaluate_polynomial<0>(TailConstants<T>::coefficients, (a - center) * scale);
    return {bell, x < 0 ? tail : 1 - tail};
}

}  // namespace trireme::kernels::cpu
