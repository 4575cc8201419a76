#include "base/sha256_rounds.hpp"
#include "trireme/base/error.hpp"

#ifdef __x86_64__
#include <immintrin.h>

// The intrinsics of GCC 12 use vectors that they leave undefined on purpose, and GCC warns about them.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

namespace trireme {

#ifdef __x86_64__

namespace {

using Lanes = std::uint32_t __attribute__((vector_size(4 * sha256_lanes)));

#define TRIREME_LANES __attribute__((target("avx512f,avx512bw"), always_inline)) inline

template <int count>
TRIREME_LANES Lanes rotated(Lanes x) {
    return (Lanes)_mm512_ror_epi32((__m512i)x, count);
}

TRIREME_LANES Lanes parity(Lanes x, Lanes y, Lanes z) {
    return (Lanes)_mm512_ternarylogic_epi32((__m512i)x, (__m512i)y, (__m512i)z, 0x96);
}

TRIREME_LANES Lanes choice(Lanes x, Lanes y, Lanes z) {
    return (Lanes)_mm512_ternarylogic_epi32((__m512i)x, (__m512i)y, (__m512i)z, 0xca);
}

TRIREME_LANES Lanes majority(Lanes x, Lanes y, Lanes z) {
    return (Lanes)_mm512_ternarylogic_epi32((__m512i)x, (__m512i)y, (__m512i)z, 0xe8);
}

template <int which>
TRIREME_LANES Lanes quarters(Lanes x, Lanes y) {
    return (Lanes)_mm512_shuffle_i32x4((__m512i)x, (__m512i)y, which);
}

TRIREME_LANES Lanes unpacked_lo_32(Lanes x, Lanes y) {
    return (Lanes)_mm512_unpacklo_epi32((__m512i)x, (__m512i)y);
}

TRIREME_LANES Lanes unpacked_lo_64(Lanes x, Lanes y) {
    return (Lanes)_mm512_unpacklo_epi64((__m512i)x, (__m512i)y);
}

TRIREME_LANES Lanes unpacked_hi_32(Lanes x, Lanes y) {
    return (Lanes)_mm512_unpackhi_epi32((__m512i)x, (__m512i)y);
}

TRIREME_LANES Lanes unpacked_hi_64(Lanes x, Lanes y) {
    return (Lanes)_mm512_unpackhi_epi64((__m512i)x, (__m512i)y);
}

// Transposes rows of messages into rows of words, in steps of 2, 4, 8 and 16.
TRIREME_LANES void transpose(std::array<Lanes, sha256_lanes>& rows) {
    std::array<Lanes, sha256_lanes> other;
    for (std::size_t i = 0; i < 16; i += 2) {
        other[i] = unpacked_lo_32(rows[i], rows[i + 1]);
        other[i + 1] = unpacked_hi_32(rows[i], rows[i + 1]);
    }
    for (std::size_t i = 0; i < 16; i += 4) {
        rows[i] = unpacked_lo_64(other[i], other[i + 2]);
        rows[i + 1] = unpacked_hi_64(other[i], other[i + 2]);
        rows[i + 2] = unpacked_lo_64(other[i + 1], other[i + 3]);
        rows[i + 3] = unpacked_hi_64(other[i + 1], other[i + 3]);
    }
    for (std::size_t i = 0; i < 16; i += 8) {
        for (std::size_t j = i; j < i + 4; ++j) {
            other[j] = quarters<0x88>(rows[j], rows[j + 4]);
            other[j + 4] = quarters<0xdd>(rows[j], rows[j + 4]);
        }
    }
    for (std::size_t j = 0; j < 8; ++j) {
        rows[j] = quarters<0x88>(other[j], other[j + 8]);
        rows[j + 8] = quarters<0xdd>(other[j], other[j + 8]);
    }
}

// Returns the next block of each message as big-endian words.
TRIREME_LANES std::array<Lanes, 16> words_of(const std::array<const std::byte*, sha256_lanes>& messages,
                                             std::size_t block) {
    const __m512i big_endian = _mm512_broadcast_i32x4(_mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203));
    std::array<Lanes, sha256_lanes> rows;
    for (std::size_t l = 0; l < sha256_lanes; ++l)
        rows[l] = (Lanes)_mm512_loadu_si512(messages[l] + 64 * block);
    transpose(rows);
    for (Lanes& words : rows) words = (Lanes)_mm512_shuffle_epi8((__m512i)words, big_endian);
    return rows;
}

// Adds one block of each message to `state` (FIPS 180-4, 6.2.2).
TRIREME_LANES void absorb_block(std::array<Lanes, 8>& state, std::array<Lanes, 16>& w) {
    auto [a, b, c, d, e, f, g, h] = state;
#pragma GCC unroll 64
    for (std::size_t i = 0; i < 64; ++i) {
        if (i >= 16) {
            const Lanes x = w[(i + 1) % 16], y = w[(i + 14) % 16];
            w[i % 16] += w[(i + 9) % 16] + parity(rotated<7>(x), rotated<18>(x), x >> 3) +
                         parity(rotated<17>(y), rotated<19>(y), y >> 10);
        }
        const Lanes first = h + parity(rotated<6>(e), rotated<11>(e), rotated<25>(e)) + choice(e, f, g) +
                            (w[i % 16] + sha256_constants[i]);
        const Lanes second = parity(rotated<2>(a), rotated<13>(a), rotated<22>(a)) + majority(a, b, c);
        h = g;
        g = f;
        f = e;
        e = d + first;
        d = c;
        c = b;
        b = a;
        a = first + second;
    }
    const std::array<Lanes, 8> added{a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < 8; ++i) state[i] += added[i];
}

}  // namespace

bool has_sha256_lanes() {
    return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0;
}

__attribute__((target("avx512f,avx512bw"))) void absorb_by_lanes(
    LaneStates& state, const std::array<const std::byte*, sha256_lanes>& messages, std::size_t blocks) {
    std::array<Lanes, 8> lanes;
    for (std::size_t w = 0; w < 8; ++w) lanes[w] = (Lanes)_mm512_loadu_si512(state[w].data());
    for (std::size_t block = 0; block < blocks; ++block) {
        std::array<Lanes, 16> words = words_of(messages, block);
        absorb_block(lanes, words);
    }
    for (std::size_t w = 0; w < 8; ++w) _mm512_storeu_si512(state[w].data(), (__m512i)lanes[w]);
}

#undef TRIREME_LANES

#else

bool has_sha256_lanes() { return false; }

void absorb_by_lanes(LaneStates&, const std::array<const std::byte*, sha256_lanes>&, std::size_t) {
    throw BugError("this processor has no vectors for SHA-256");
}

#endif

}  // namespace trireme
