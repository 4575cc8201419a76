#include "trireme/base/sha256.hpp"

#include <algorithm>
#include <bit>

#include "base/sha256_rounds.hpp"

namespace trireme {
namespace {

// Smallest message for which checking for the SHA instructions pays off.
constexpr std::size_t many_bytes = 4096;
// At most this many messages are hashed as fast one after the other as all together.
constexpr std::size_t few_messages = 10;

std::uint32_t big_endian_word(const std::byte* at) {
    return std::to_integer<std::uint32_t>(at[0]) << 24 | std::to_integer<std::uint32_t>(at[1]) << 16 |
           std::to_integer<std::uint32_t>(at[2]) << 8 | std::to_integer<std::uint32_t>(at[3]);
}

// Expands the 16 words of a block to one word per round (FIPS 180-4, 6.2.2, step 1).
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
        const std::uint32_t first = h + s1 + choice + sha256_constants[i] + w[i];
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
    if (bytes.size() >= many_bytes && has_sha256_instructions()) {
        const std::size_t whole = bytes.size() / block_bytes * block_bytes;
        absorb_by_instructions(state_, bytes.first(whole));
        bytes = bytes.subspan(whole);
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

// Hashes whole blocks of up to sixteen messages at a time, while more than `few_messages` messages have one
// left.
void Sha256::absorb_together(std::span<Sha256> sums, std::span<const std::span<const std::byte>> messages) {
    const auto blocks_left = [&](std::size_t m) { return (messages[m].size() - sums[m].total_) / block_bytes; };
    while (true) {
        std::vector<std::size_t> taken;
        for (std::size_t m = 0; m < messages.size() && taken.size() < sha256_lanes; ++m)
            if (blocks_left(m) > 0) taken.push_back(m);
        if (taken.size() <= few_messages) return;
        const std::size_t blocks = blocks_left(*std::ranges::min_element(taken, {}, blocks_left));
        LaneStates lanes{};
        std::array<const std::byte*, sha256_lanes> places{};
        for (std::size_t l = 0; l < sha256_lanes; ++l) {
            const std::size_t m = taken[std::min(l, taken.size() - 1)];  // idle lanes repeat the last
            places[l] = messages[m].data() + sums[m].total_;
            for (std::size_t w = 0; w < lanes.size(); ++w) lanes[w][l] = sums[m].state_[w];
        }
        absorb_by_lanes(lanes, places, blocks);
        for (std::size_t l = 0; l < taken.size(); ++l) {
            sums[taken[l]].total_ += blocks * block_bytes;
            for (std::size_t w = 0; w < lanes.size(); ++w) sums[taken[l]].state_[w] = lanes[w][l];
        }
    }
}

std::vector<std::string> Sha256::hex_of_each(std::span<const std::span<const std::byte>> messages) {
    std::vector<Sha256> sums(messages.size());
    if (messages.size() > few_messages && has_sha256_lanes()) absorb_together(sums, messages);
    std::vector<std::string> digests;
    for (std::size_t m = 0; m < messages.size(); ++m) {
        sums[m].update(messages[m].subspan(sums[m].total_));
        digests.push_back(sums[m].hex());
    }
    return digests;
}

std::string sha256_hex(std::string_view bytes) {
    Sha256 sum;
    sum.update(bytes);
    return sum.hex();
}

}  // namespace trireme
