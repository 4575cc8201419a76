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

// Attributes of the functions on `Lanes`. A `Lanes` vector has one word of each of sixteen messages. The
// functions parity, choose and majority are Parity, Ch and Maj of FIPS 180-4, 4.1; the last argument of their
// intrinsic is the truth table of the function.
#define TRIREME_LANES __attribute__((target("avx512f,avx512bw"), always_inline)) inline

template <int count>
TRIREME_LANES Lanes rotate_right(Lanes x) {
    return (Lanes)_mm512_ror_epi32((__m512i)x, count);
}

TRIREME_LANES Lanes parity(Lanes x, Lanes y, Lanes z) {
    return (Lanes)_mm512_ternarylogic_epi32((__m512i)x, (__m512i)y, (__m512i)z, 0x96);
}

TRIREME_LANES Lanes choose(Lanes x, Lanes y, Lanes z) {
    return (Lanes)_mm512_ternarylogic_epi32((__m512i)x, (__m512i)y, (__m512i)z, 0xca);
}

TRIREME_LANES Lanes majority(Lanes x, Lanes y, Lanes z) {
    return (Lanes)_mm512_ternarylogic_epi32((__m512i)x, (__m512i)y, (__m512i)z, 0xe8);
}

template <int selection>
TRIREME_LANES Lanes shuffle_quarters(Lanes x, Lanes y) {
    return (Lanes)_mm512_shuffle_i32x4((__m512i)x, (__m512i)y, selection);
}

TRIREME_LANES Lanes unpack_lo_32(Lanes x, Lanes y) {
    return (Lanes)_mm512_unpacklo_epi32((__m512i)x, (__m512i)y);
}

TRIREME_LANES Lanes unpack_lo_64(Lanes x, Lanes y) {
    return (Lanes)_mm512_unpacklo_epi64((__m512i)x, (__m512i)y);
}

TRIREME_LANES Lanes unpack_hi_32(Lanes x, Lanes y) {
    return (Lanes)_mm512_unpackhi_epi32((__m512i)x, (__m512i)y);
}

TRIREME_LANES Lanes unpack_hi_64(Lanes x, Lanes y) {
    return (Lanes)_mm512_unpackhi_epi64((__m512i)x, (__m512i)y);
}

// Transposes a 16 x 16 matrix of words in four steps: word w of message l moves from rows[l][w] to rows[w][l].
TRIREME_LANES void transpose(std::array<Lanes, sha256_lanes>& rows) {
    std::array<Lanes, sha256_lanes> other;
    for (std::size_t i = 0; i < 16; i += 2) {
        other[i] = unpack_lo_32(rows[i], rows[i + 1]);
        other[i + 1] = unpack_hi_32(rows[i], rows[i + 1]);
    }
    for (std::size_t i = 0; i < 16; i += 4) {
        rows[i] = unpack_lo_64(other[i], other[i + 2]);
        rows[i + 1] = unpack_hi_64(other[i], other[i + 2]);
        rows[i + 2] = unpack_lo_64(other[i + 1], other[i + 3]);
        rows[i + 3] = unpack_hi_64(other[i + 1], other[i + 3]);
    }
    for (std::size_t i = 0; i < 16; i += 8) {
        for (std::size_t j = i; j < i + 4; ++j) {
            other[j] = shuffle_quarters<0x88>(rows[j], rows[j + 4]);
            other[j + 4] = shuffle_quarters<0xdd>(rows[j], rows[j + 4]);
        }
    }
    for (std::size_t j = 0; j < 8; ++j) {
        rows[j] = shuffle_quarters<0x88>(other[j], other[j + 8]);
        rows[j + 8] = shuffle_quarters<0xdd>(other[j], other[j + 8]);
    }
}

// Returns block `block` of each message as big-endian words; lane l of result[w] is word w of message l.
TRIREME_LANES std::array<Lanes, 16> load_words(const std::array<const std::byte*, sha256_lanes>& messages,
                                               std::size_t block) {
    const __m512i big_endian = _mm512_broadcast_i32x4(_mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203));
    std::array<Lanes, sha256_lanes> rows;
    for (std::size_t l = 0; l < sha256_lanes; ++l)
        rows[l] = (Lanes)_mm512_loadu_si512(messages[l] + 64 * block);
    transpose(rows);
    for (Lanes& words : rows) words = (Lanes)_mm512_shuffle_epi8((__m512i)words, big_endian);
    return rows;
}

// Updates `state` by one block of each message. The names of the variables are those of FIPS 180-4, 6.2.2. `w`
// holds the latest sixteen words of the message schedule.
TRIREME_LANES void absorb_block(std::array<Lanes, 8>& state, std::array<Lanes, 16>& w) {
    auto [a, b, c, d, e, f, g, h] = state;
#pragma GCC unroll 64
    for (std::size_t i = 0; i < 64; ++i) {
        if (i >= 16) {
            const Lanes x = w[(i + 1) % 16], y = w[(i + 14) % 16];
            w[i % 16] += w[(i + 9) % 16] + parity(rotate_right<7>(x), rotate_right<18>(x), x >> 3) +
                         parity(rotate_right<17>(y), rotate_right<19>(y), y >> 10);
        }
        const Lanes t1 = h + parity(rotate_right<6>(e), rotate_right<11>(e), rotate_right<25>(e)) +
                         choose(e, f, g) + (w[i % 16] + sha256_constants[i]);
        const Lanes t2 =
            parity(rotate_right<2>(a), rotate_right<13>(a), rotate_right<22>(a)) + majority(a, b, c);
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    const std::array<Lanes, 8> change{a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < 8; ++i) state[i] += change[i];
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
        std::array<Lanes, 16> words = load_words(messages, block);
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
