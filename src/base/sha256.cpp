#include "trireme/base/sha256.hpp"

#include <algorithm>
#include <bit>

namespace trireme {
namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> round_constants{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t big_endian_word(const std::byte* at) {
    return std::to_integer<std::uint32_t>(at[0]) << 24 | std::to_integer<std::uint32_t>(at[1]) << 16 |
           std::to_integer<std::uint32_t>(at[2]) << 8 | std::to_integer<std::uint32_t>(at[3]);
}

// The 16 words of a block, stretched to one for each round (FIPS 180-4, 6.2.2, step 1).
std::array<std::uint32_t, 64> message_schedule(const std::byte* block) {
    std::array<std::uint32_t, 64> w;
    for (std::size_t i = 0; i < 16; ++i) w[i] = big_endian_word(block + 4 * i);
    for (std::size_t i = 16; i < 64; ++i) {
        const std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
        const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    return w;
}

}  // namespace

void Sha256::absorb(State& state, const std::byte* block) {
    const std::array<std::uint32_t, 64> w = message_schedule(block);
    auto [a, b, c, d, e, f, g, h] = state;
    for (std::size_t i = 0; i < 64; ++i) {
        const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
        const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
        const std::uint32_t choice = (e & f) ^ (~e & g);
        const std::uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
        const std::uint32_t first = h + s1 + choice + round_constants[i] + w[i];
        h = g;
        g = f;
        f = e;
        e = d + first;
        d = c;
        c = b;
        b = a;
        a = first + s0 + majority;
    }
    const State added{a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < state.size(); ++i) state[i] += added[i];
}

void Sha256::update(std::span<const std::byte> bytes) {
    const std::size_t begun = total_ % block_bytes;
    total_ += bytes.size();
    if (begun > 0) {
        const std::size_t taken = std::min(block_bytes - begun, bytes.size());
        std::copy_n(bytes.begin(), taken, pending_.begin() + static_cast<std::ptrdiff_t>(begun));
        bytes = bytes.subspan(taken);
        if (begun + taken < block_bytes) return;
        absorb(state_, pending_.data());
    }
    for (; bytes.size() >= block_bytes; bytes = bytes.subspan(block_bytes)) absorb(state_, bytes.data());
    std::copy(bytes.begin(), bytes.end(), pending_.begin());
}

std::string Sha256::hex() const {
    // The padding: a one bit, zeros, and the length in bits as a 64-bit number that ends a block.
    std::array<std::byte, 2 * block_bytes> tail{};
    const std::size_t begun = total_ % block_bytes;
    std::copy_n(pending_.begin(), begun, tail.begin());
    tail[begun] = std::byte{0x80};
    const std::size_t tail_bytes = begun + 9 <= block_bytes ? block_bytes : 2 * block_bytes;
    const std::uint64_t bits = total_ * 8;
    for (std::size_t i = 0; i < 8; ++i)
        tail[tail_bytes - 1 - i] = static_cast<std::byte>(bits >> (8 * i) & 0xff);

    State state = state_;
    for (std::size_t at = 0; at < tail_bytes; at += block_bytes) absorb(state, tail.data() + at);
    std::string text;
    for (const std::uint32_t word : state)
        for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[word >> shift & 0xf];
    return text;
}

std::string sha256_hex(std::string_view bytes) {
    Sha256 sum;
    sum.update(bytes);
    return sum.hex();
}

}  // namespace trireme
