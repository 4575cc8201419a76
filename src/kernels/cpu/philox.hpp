// Philox random numbers for many consecutive counters at once; yields the same words as random_block().
#pragma once

#include <cstddef>

#include "trireme/base/random.hpp"

namespace trireme::kernels::cpu {

struct PhiloxState {
    std::uint32_t word0, word1, word2, word3;
    std::uint32_t key0, key1;
};

// The rounds of random_block(), as a recursion, because an inner loop would keep the loop over the counters
// from vectorising.
template <int rounds>
inline PhiloxState philox(PhiloxState s) {
    if constexpr (rounds == 0) {
        return s;
    } else {
        const std::uint64_t p0 = std::uint64_t{0xD2511F53} * s.word0;
        const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * s.word2;
        return philox<rounds - 1>({static_cast<std::uint32_t>(p1 >> 32) ^ s.word1 ^ s.key0,
                                   static_cast<std::uint32_t>(p1),
                                   static_cast<std::uint32_t>(p0 >> 32) ^ s.word3 ^ s.key1,
                                   static_cast<std::uint32_t>(p0), s.key0 + 0x9E3779B9U, s.key1 + 0xBB67AE85U});
    }
}

// words[4 i + j] = word j of random_block(key, first + {i, 0, 0, 0}), for i < blocks
inline void draw_random_words(RandomKey key, const RandomBlock& first, std::size_t blocks,
                              std::uint32_t* words) {
    const auto key0 = static_cast<std::uint32_t>(key.bits);
    const auto key1 = static_cast<std::uint32_t>(key.bits >> 32);
    const auto [word0, word1, word2, word3] = first;
#pragma omp simd
    for (std::size_t i = 0; i < blocks; ++i) {
        const PhiloxState s =
            philox<10>({word0 + static_cast<std::uint32_t>(i), word1, word2, word3, key0, key1});
        words[4 * i] = s.word0;
        words[4 * i + 1] = s.word1;
        words[4 * i + 2] = s.word2;
        words[4 * i + 3] = s.word3;
    }
}

}  // namespace trireme::kernels::cpu
