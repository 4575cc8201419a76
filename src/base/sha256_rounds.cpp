#include "base/sha256_rounds.hpp"

#include "trireme/base/error.hpp"

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace trireme {

#ifdef __x86_64__

bool has_sha256_instructions() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (b & bit_SHA) == 0) return false;
    return __builtin_cpu_supports("sse4.1") != 0 && __builtin_cpu_supports("ssse3") != 0;
}

// The instructions need the words a to h of the state as the vectors (a, b, e, f) and (c, d, g, h). One
// instruction computes two rounds.
__attribute__((target("sha,sse4.1,ssse3"))) void absorb_by_instructions(std::array<std::uint32_t, 8>& state,
                                                                        std::span<const std::byte> blocks) {
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    auto* const words = reinterpret_cast<__m128i*>(state.data());
    const __m128i dcba = _mm_shuffle_epi32(_mm_loadu_si128(words), 0xB1);
    const __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128(words + 1), 0x1B);
    __m128i abef = _mm_alignr_epi8(dcba, hgfe, 8);
    __m128i cdgh = _mm_blend_epi16(hgfe, dcba, 0xF0);
    for (; !blocks.empty(); blocks = blocks.subspan(64)) {
        const __m128i abef_before = abef, cdgh_before = cdgh;
        __m128i w[4];  // the latest sixteen words of the message schedule
        // Unrolling keeps these four vectors in registers, so that no load or store delays the rounds.
#pragma GCC unroll 16
        for (std::size_t i = 0; i < 16; ++i) {
            __m128i& next = w[i % 4];
            if (i < 4) {
                const auto* const block_words = reinterpret_cast<const __m128i*>(blocks.data()) + i;
                next = _mm_shuffle_epi8(_mm_loadu_si128(block_words), big_endian);
            } else {
                const __m128i words_seven_back = _mm_alignr_epi8(w[(i + 3) % 4], w[(i + 2) % 4], 4);
                next = _mm_add_epi32(_mm_sha256msg1_epu32(next, w[(i + 1) % 4]), words_seven_back);
                next = _mm_sha256msg2_epu32(next, w[(i + 3) % 4]);
            }
            const auto* const constants = reinterpret_cast<const __m128i*>(sha256_constants.data()) + i;
            const __m128i sum = _mm_add_epi32(next, _mm_loadu_si128(constants));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0E));
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    const __m128i feba = _mm_shuffle_epi32(abef, 0x1B);
    const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xB1);
    _mm_storeu_si128(words, _mm_blend_epi16(feba, dchg, 0xF0));
    _mm_storeu_si128(words + 1, _mm_alignr_epi8(dchg, feba, 8));
}

#else

bool has_sha256_instructions() { return false; }

void absorb_by_instructions(std::array<std::uint32_t, 8>&, std::span<const std::byte>) {
    throw BugError("this processor has no instructions for SHA-256");
}

#endif

}  // namespace trireme
