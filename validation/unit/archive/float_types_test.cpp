#include "trireme/archive/float_types.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace trireme::archive {
namespace {

constexpr StoredType f64 = StoredType::f64;
constexpr StoredType f32 = StoredType::f32;
constexpr StoredType f16 = StoredType::f16;
constexpr StoredType bf16 = StoredType::bf16;

template <class Out, class In>
std::vector<Out> converted(StoredType from, const std::vector<In>& in, StoredType to) {
    std::vector<Out> out(in.size());
    convert_floats(from, std::as_bytes(std::span(in)), to, std::as_writable_bytes(std::span(out)));
    return out;
}

template <class In>
std::uint16_t narrowed(StoredType from, In value, StoredType to) {
    return converted<std::uint16_t>(from, std::vector<In>{value}, to).front();
}

std::vector<std::uint16_t> all_patterns() {
    std::vector<std::uint16_t> all(65536);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
    return all;
}

TEST(FloatTypes, KeepEvery16BitPatternThroughWiderTypes) {
    const std::vector<std::uint16_t> all = all_patterns();

    for (const StoredType narrow : {f16, bf16}) {
        const auto single = converted<std::uint32_t>(narrow, all, f32);
        const auto twice = converted<std::uint64_t>(narrow, all, f64);

        EXPECT_EQ(converted<std::uint16_t>(f32, single, narrow), all) << to_string(narrow);
        EXPECT_EQ(converted<std::uint16_t>(f64, twice, narrow), all) << to_string(narrow);
    }
}

TEST(FloatTypes, WidenWithoutChangingTheValue) {
    EXPECT_EQ(converted<float>(f16, std::vector<std::uint16_t>{0x3C00, 0xC000, 0x3555, 0x0001, 0x7BFF}, f32),
              (std::vector<float>{1, -2, 0x1.554p-2F, 0x1p-24F, 65504}));
    EXPECT_EQ(converted<double>(bf16, std::vector<std::uint16_t>{0x3F80, 0x8001, 0x7F80}, f64),
              (std::vector<double>{1, -0x1p-133, std::numeric_limits<double>::infinity()}));
}

TEST(FloatTypes, RoundTiesToEven) {
    EXPECT_EQ(narrowed(f32, 1 + 0x1p-8F, bf16), 0x3F80);
    EXPECT_EQ(narrowed(f32, 1 + 0x3p-8F, bf16), 0x3F82);
    EXPECT_EQ(narrowed(f32, 1 + 0x1p-11F, f16), 0x3C00);
    EXPECT_EQ(narrowed(f32, 1 + 0x3p-11F, f16), 0x3C02);
    EXPECT_EQ(narrowed(f32, 0x1p-25F, f16), 0x0000);
    EXPECT_EQ(narrowed(f32, 0x3p-25F, f16), 0x0002);
}

TEST(FloatTypes, RoundDoublesOnlyOnce) {
    // Rounding to float first would lose the last bit, and the resulting tie would then be rounded down.
    EXPECT_EQ(narrowed(f64, 1 + 0x1p-8 + 0x1p-40, bf16), 0x3F81);
    EXPECT_EQ(narrowed(f64, 0x1p-25 + 0x1p-70, f16), 0x0001);
}

TEST(FloatTypes, RoundOverflowToInfinity) {
    EXPECT_EQ(narrowed(f32, 65519.0F, f16), 0x7BFF);
    EXPECT_EQ(narrowed(f32, 65520.0F, f16), 0x7C00);
    EXPECT_EQ(narrowed(f64, -1e300, bf16), 0xFF80);
    EXPECT_EQ(narrowed(f32, std::numeric_limits<float>::max(), bf16), 0x7F80);
}

TEST(FloatTypes, KeepNansWhosePayloadDoesNotFit) {
    const auto loud = std::bit_cast<float>(0x7F800001U);

    EXPECT_EQ(narrowed(f32, loud, bf16), 0x7FC0);
    EXPECT_EQ(narrowed(f32, loud, f16), 0x7E00);
}

TEST(FloatTypes, RoundDoublesLikeTheProcessor) {
    std::mt19937_64 random(1);
    std::vector<double> values{0.0, -0.0, 1e-320, 1e-45, 1e-46, 3.5e38, 1.0 / 3};
    while (values.size() < 100000) {
        const auto value = std::bit_cast<double>(random());
        if (!std::isnan(value)) values.push_back(value);
        values.push_back(std::ldexp(1 + std::ldexp(static_cast<double>(random() >> 12), -52),
                                    static_cast<int>(random() % 300) - 160));
    }

    const auto floats = converted<std::uint32_t>(f64, values, f32);

    for (std::size_t i = 0; i < values.size(); ++i)
        ASSERT_EQ(floats[i], std::bit_cast<std::uint32_t>(static_cast<float>(values[i]))) << values[i];
}

TEST(FloatTypes, ExcludeIntegers) {
    EXPECT_TRUE(is_float_type(bf16));
    EXPECT_FALSE(is_float_type(StoredType::i64));
    EXPECT_FALSE(is_float_type(StoredType::boolean));
}

}  // namespace
}  // namespace trireme::archive
