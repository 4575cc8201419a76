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

// The fields of a floating-point number, from the lowest bit: `mantissa` bits of mantissa, `exponent` bits of
// exponent, and the sign.
template <class Word, int mantissa, int exponent>
struct Format {
    using Bits = Word;
    static constexpr int mantissa_bits = mantissa;
    // Exponent field of infinities and NaNs.
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

// Returns significand / 2^drop, rounded to the nearest integer; ties round to even. The caller ensures that
// `significand` is below 2^63 and that `drop` is at least 1.
std::uint64_t shift_right_rounded(std::uint64_t significand, int drop) {
    if (drop > 63) return 0;  // less than one half
    const std::uint64_t rounded = significand >> drop;
    const std::uint64_t dropped = significand & ((std::uint64_t{1} << drop) - 1);
    const std::uint64_t half = std::uint64_t{1} << (drop - 1);
    return rounded + (dropped > half || (dropped == half && rounded % 2 == 1) ? 1 : 0);
}

// Converts an infinity or a NaN to the format To. Returns the exponent and mantissa fields. `mantissa` is the
// mantissa field of the number in the format From: 0 for an infinity.
template <class From, class To>
std::uint64_t convert_special(std::uint64_t mantissa) {
    constexpr int dropped_bits = From::mantissa_bits - To::mantissa_bits;
    if (mantissa == 0) return To::infinity;
    if constexpr (dropped_bits <= 0) return To::infinity | mantissa << -dropped_bits;
    const std::uint64_t payload = mantissa >> std::max(dropped_bits, 0);
    // A NaN whose payload does not fit must not become an infinity.
    return To::infinity | (payload != 0 ? payload : std::uint64_t{1} << (To::mantissa_bits - 1));
}

// Converts a finite number other than zero to the format To. Returns the exponent and mantissa fields.
// `mantissa` and `exponent` are the fields of the number in the format From.
template <class From, class To>
std::uint64_t convert_finite(std::uint64_t mantissa, int exponent) {
    constexpr int leading_position = 62;  // bit of the leading one; keeps `significand` below 2^63
    // A subnormal number has the exponent field 0. It is scaled as if the field were 1, and has no implicit
    // leading one.
    int biased_exponent = std::max(exponent, 1) - From::bias + To::bias;
    if (exponent > 0) mantissa |= std::uint64_t{1} << From::mantissa_bits;
    const int top_bit = static_cast<int>(std::bit_width(mantissa)) - 1;
    const std::uint64_t significand = mantissa << (leading_position - top_bit);
    biased_exponent -= From::mantissa_bits - top_bit;
    const int subnormal_shift = std::max(0, 1 - biased_exponent);
    const std::uint64_t rounded =
        shift_right_rounded(significand, leading_position - To::mantissa_bits + subnormal_shift);
    if (biased_exponent < 1) return rounded;
    // Adding `rounded`, whose leading one is not masked, raises the exponent field by one: hence `- 1`. A carry
    // of the rounding raises the exponent field once more, as it must.
    const std::uint64_t magnitude =
        (static_cast<std::uint64_t>(biased_exponent - 1) << To::mantissa_bits) + rounded;
    return std::min(magnitude, To::infinity);
}

template <class From, class To>
typename To::Bits convert(typename From::Bits bits) {
    constexpr int added_bits = To::mantissa_bits - From::mantissa_bits;
    if constexpr (From::bias == To::bias && added_bits > 0)
        return static_cast<typename To::Bits>(typename To::Bits{bits} << added_bits);
    const std::uint64_t mantissa = bits & From::mantissa_mask;
    const std::uint64_t exponent = (std::uint64_t{bits} >> From::mantissa_bits) & From::largest_exponent;
    const std::uint64_t sign = std::uint64_t{bits} >> From::sign_bit;
    std::uint64_t magnitude = 0;
    if (exponent == From::largest_exponent) {
        magnitude = convert_special<From, To>(mantissa);
    } else if (exponent != 0 || mantissa != 0) {
        magnitude = convert_finite<From, To>(mantissa, static_cast<int>(exponent));
    }
    return static_cast<typename To::Bits>(sign << To::sign_bit | magnitude);
}

template <class From, class To>
void convert_all(std::span<const std::byte> in, std::span<std::byte> out) {
    const std::size_t count = in.size() / sizeof(typename From::Bits);
    for (std::size_t i = 0; i < count; ++i) {
        typename From::Bits bits;  // a copy, because bytes of a file may be unaligned
        std::memcpy(&bits, in.data() + i * sizeof bits, sizeof bits);
        const typename To::Bits converted = convert<From, To>(bits);
        std::memcpy(out.data() + i * sizeof converted, &converted, sizeof converted);
    }
}

// Calls `visitor` with an object of the Format of `type`.
template <class Visitor>
void visit_format(StoredType type, Visitor&& visitor) {
    if (type == StoredType::f64) return visitor(F64{});
    if (type == StoredType::f32) return visitor(F32{});
    if (type == StoredType::f16) return visitor(F16{});
    if (type == StoredType::bf16) return visitor(Bf16{});
    throw BugError(cat("cannot convert ", to_string(type), ", which is not a floating-point type"));
}

}  // namespace

bool is_float_type(StoredType type) {
    return type == StoredType::f64 || type == StoredType::f32 || type == StoredType::f16 ||
           type == StoredType::bf16;
}

const char* torch_type_name(StoredType type) {
    if (type == StoredType::f64) return "float64";
    if (type == StoredType::f16) return "float16";
    return type == StoredType::bf16 ? "bfloat16" : "float32";
}

void convert_floats(StoredType from, std::span<const std::byte> in, StoredType to, std::span<std::byte> out) {
    if (in.size() % byte_size(from) != 0 || in.size() / byte_size(from) * byte_size(to) != out.size())
        throw BugError(cat("cannot convert ", in.size(), " bytes of ", to_string(from), " to ", out.size(),
                           " bytes of ", to_string(to), ": the numbers of elements differ"));
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
