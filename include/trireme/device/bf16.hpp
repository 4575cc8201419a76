// The bfloat16 number type: a float without the last 16 bits of its fraction.
#pragma once

#include <bit>
#include <cstdint>

namespace trireme::device {

struct Bf16 {
    std::uint16_t bits = 0;

    Bf16() = default;
    // Rounds to nearest, ties to even. A NaN stays a NaN.
    constexpr Bf16(float value) : bits(rounded(std::bit_cast<std::uint32_t>(value))) {}
    constexpr operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

private:
    static constexpr std::uint16_t rounded(std::uint32_t word) {
        const bool is_nan = (word & 0x7FFFFFFFU) > 0x7F800000U;
        const std::uint32_t sum = is_nan ? word | 0x400000U : word + 0x7FFFU + ((word >> 16) & 1U);
        return static_cast<std::uint16_t>(sum >> 16);
    }
};

}  // namespace trireme::device
