// Counter-based random numbers (Salmon et al., 2011: Philox4x32-10). A random number depends only on its key
// and its counter, not on earlier draws. Random numbers are therefore the same for every layout, padding,
// packing and order of evaluation.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace trireme {

// Four 32-bit words: either four random numbers, or the counter from which four random numbers are computed.
using RandomBlock = std::array<std::uint32_t, 4>;

// The key of one stream of random numbers. then() derives the key of another stream:
//   RandomKey{seed}.then(epoch).then(sample).then(layer)
struct RandomKey {
    std::uint64_t bits = 0;

    constexpr RandomKey then(std::uint64_t part) const {
        return {mix(bits + 0x9E3779B97F4A7C15ULL * (part + 1))};
    }
    constexpr RandomKey then(std::string_view name) const {
        std::uint64_t hash = 0xCBF29CE484222325ULL;  // FNV-1a
        for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
        return then(hash);
    }
    friend bool operator==(const RandomKey&, const RandomKey&) = default;

private:
    // SplitMix64's finaliser: every input bit reaches every output bit.
    static constexpr std::uint64_t mix(std::uint64_t x) {
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
        x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
        return x ^ (x >> 31);
    }
};

// Returns the four random numbers of one counter. Inline, so that the loops of dropout over all elements can be
// vectorised.
constexpr RandomBlock random_block(RandomKey key, RandomBlock counter) {
    auto k0 = static_cast<std::uint32_t>(key.bits);
    auto k1 = static_cast<std::uint32_t>(key.bits >> 32);
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t p0 = 0xD2511F53ULL * counter[0];
        const std::uint64_t p1 = 0xCD9E8D57ULL * counter[2];
        counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ k0, static_cast<std::uint32_t>(p1),
                   static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ k1, static_cast<std::uint32_t>(p0)};
        k0 += 0x9E3779B9U;
        k1 += 0xBB67AE85U;
    }
    return counter;
}

// Returns the block whose counter is the 64-bit `position`.
constexpr RandomBlock random_block(RandomKey key, std::uint64_t position) {
    return random_block(key, RandomBlock{static_cast<std::uint32_t>(position),
                                         static_cast<std::uint32_t>(position >> 32), 0, 0});
}

// Maps a random 32-bit number to [0, 1).
constexpr double to_unit_interval(std::uint32_t word) { return word * 0x1p-32; }
// Maps a random 32-bit number to (0, 1]: the interval is open at 0, so that a logarithm can be taken.
constexpr double to_open_unit_interval(std::uint32_t word) { return (word + 1.0) * 0x1p-32; }

}  // namespace trireme
