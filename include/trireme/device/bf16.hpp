// The bfloat16 number type: the upper 16 bits of a float.
#pragma once

#include <bit>
#include <cstdint>

namespace trireme::device {

struct Bf16 {
    std::uint16_t bits = 0;

    Bf16() = default;
    // Rounds to nearest, ties to even. A NaN stays a NaN.
    constexpr Bf16(float value) : bits(round_to_bf16(std::bit_cast<std::uint32_t>(value))) {}
    constexpr operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

private:
    static constexpr std::uint16_t round_to_bf16(std::uint32_t float_bits) {
        const bool is_nan = (float_bits & 0x7FFFFFFFU) > 0x7F800000U;
        const std::uint32_t sum =
            is_nan ? float_bits | 0x400000U : float_bits + 0x7FFFU + ((float_bits >> 16) & 1U);
        return static_cast<std::uint16_t>(sum >> 16);
    }
};

}  // namespace trireme::device
