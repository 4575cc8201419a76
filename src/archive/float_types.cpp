#include "trireme/archive/float_types.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "trireme/base/error.hpp"

namespace trireme::archive {
namespace {

static_assert(std::endian::native == std::endian::little, "files hold little-endian numbers");

// The fields of a floating-point number, from the lowest bit: mantissa, exponent, sign.
template <class Word, int mantissa, int exponent>
struct Format {
    using Bits = Word;
    static constexpr int mantissa_bits = mantissa;
    // Exponent of infinities and NaNs.
    static constexpr std::uint64_t largest_exponent = (std::uint64_t{1} << exponent) - 1;
    static constexpr int bias = (1 << (exponent - 1)) - 1;
    static constexpr int sign_bit = mantissa + exponent;
    static constexpr std::uint64_t mantissa_mask = (std::uint64_t{1} << mantissa) - 1;
    static constexpr std::uint64_t infinity = largest_exponent << mantissa;
};
using F64 = Format<std::uint64_t, 52, 11>;
using F32 = Format<std::uint32_t, 23, 8>;
using F16 = Format<std::uint16_t, 10, 5>;
using Bf16 = Format<std::uint16_t, 7, 8>;

// Returns significand / 2^drop, rounded to the nearest integer, ties to even.
std::uint64_t rounded_shift(std::uint64_t significand, int drop) {
    if (drop > 63) return 0;  // less than one half
    const std::uint64_t kept = significand >> drop;
    const std::uint64_t rest = significand & ((std::uint64_t{1} << drop) - 1);
    const std::uint64_t half = std::uint64_t{1} << (drop - 1);
    return kept + (rest > half || (rest == half && kept % 2 == 1) ? 1 : 0);
}

// Converts the mantissa of an infinity or a NaN.
template <class From, class To>
std::uint64_t special(std::uint64_t mantissa) {
    constexpr int narrower = From::mantissa_bits - To::mantissa_bits;
    if (mantissa == 0) return To::infinity;
    if constexpr (narrower <= 0) return To::infinity | mantissa << -narrower;
    const std::uint64_t kept = mantissa >> std::max(narrower, 0);
    // A NaN whose payload does not fit must not become an infinity.
    return To::infinity | (kept != 0 ? kept : std::uint64_t{1} << (To::mantissa_bits - 1));
}

// Converts a finite number other than zero, given by its mantissa and exponent fields; the sign is left out.
template <class From, class To>
std::uint64_t finite(std::uint64_t mantissa, int exponent) {
    constexpr int leading = 62;  // position of the leading one; one bit above it is free
    int biased = std::max(exponent, 1) - From::bias + To::bias;
    if (exponent > 0) mantissa |= std::uint64_t{1} << From::mantissa_bits;
    const int top = static_cast<int>(std::bit_width(mantissa)) - 1;
    const std::uint64_t significand = mantissa << (leading - top);
    biased -= From::mantissa_bits - top;
    const int below_normal = std::max(0, 1 - biased);
    const std::uint64_t kept = rounded_shift(significand, leading - To::mantissa_bits + below_normal);
    if (biased < 1) return kept;
    // The leading one of `kept` adds one to the exponent, and so does a carry.
    const std::uint64_t all = (static_cast<std::uint64_t>(biased - 1) << To::mantissa_bits) + kept;
    return std::min(all, To::infinity);
}

template <class From, class To>
typename To::Bits convert(typename From::Bits bits) {
    constexpr int wider = To::mantissa_bits - From::mantissa_bits;
    if constexpr (From::bias == To::bias && wider > 0)
        return static_cast<typename To::Bits>(typename To::Bits{bits} << wider);
    const std::uint64_t mantissa = bits & From::mantissa_mask;
    const std::uint64_t exponent = (std::uint64_t{bits} >> From::mantissa_bits) & From::largest_exponent;
    const std::uint64_t sign = std::uint64_t{bits} >> From::sign_bit;
    std::uint64_t magnitude = 0;
    if (exponent == From::largest_exponent) {
        magnitude = special<From, To>(mantissa);
    } else if (exponent != 0 || mantissa != 0) {
        magnitude = finite<From, To>(mantissa, static_cast<int>(exponent));
    }
    return static_cast<typename To::Bits>(sign << To::sign_bit | magnitude);
}

template <class From, class To>
void convert_all(std::span<const std::byte> in, std::span<std::byte> out) {
    const std::size_t count = in.size() / sizeof(typename From::Bits);
    for (std::size_t i = 0; i < count; ++i) {
        typename From::Bits bits;  // bytes of a file are unaligned
        std::memcpy(&bits, in.data() + i * sizeof bits, sizeof bits);
        const typename To::Bits converted = convert<From, To>(bits);
        std::memcpy(out.data() + i * sizeof converted, &converted, sizeof converted);
    }
}

template <class Use>
void visit_format(StoredType type, Use&& use) {
    if (type == StoredType::f64) return use(F64{});
    if (type == StoredType::f32) return use(F32{});
    if (type == StoredType::f16) return use(F16{});
    if (type == StoredType::bf16) return use(Bf16{});
    throw BugError(cat("a conversion of ", name_of(type), ", which is no floating-point type"));
}

}  // namespace

bool is_float(StoredType type) {
    return type == StoredType::f64 || type == StoredType::f32 || type == StoredType::f16 ||
           type == StoredType::bf16;
}

const char* torch_name_of(StoredType type) {
    if (type == StoredType::f64) return "float64";
    if (type == StoredType::f16) return "float16";
    return type == StoredType::bf16 ? "bfloat16" : "float32";
}

void convert_floats(StoredType from, std::span<const std::byte> in, StoredType to, std::span<std::byte> out) {
    if (in.size() % bytes_of(from) != 0 || in.size() / bytes_of(from) * bytes_of(to) != out.size())
        throw BugError(cat(in.size(), " bytes of ", name_of(from), " do not become ", out.size(), " bytes of ",
                           name_of(to)));
    visit_format(from, [&]<class From>(From) {
        visit_format(to, [&]<class To>(To) {
            if constexpr (std::is_same_v<From, To>) {
                std::copy(in.begin(), in.end(), out.begin());
            } else {
                convert_all<From, To>(in, out);
            }
        });
    });
}

}  // namespace trireme::archive
