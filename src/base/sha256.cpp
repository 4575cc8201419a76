#include "trireme/base/sha256.hpp"

#include <algorithm>
#include <bit>

#include "base/sha256_rounds.hpp"

namespace trireme {
namespace {

// For fewer bytes than this number, SHA instructions save less time than it takes to check whether the
// processor has them.
constexpr std::size_t min_accelerated_bytes = 4096;
// Up to this number of messages, hashing one message after the other is at least as fast as hashing all at
// once.
constexpr std::size_t max_serial_messages = 10;

std::uint32_t read_big_endian_word(const std::byte* at) {
    return std::to_integer<std::uint32_t>(at[0]) << 24 | std::to_integer<std::uint32_t>(at[1]) << 16 |
           std::to_integer<std::uint32_t>(at[2]) << 8 | std::to_integer<std::uint32_t>(at[3]);
}

// Expands the 16 words of a block to one word per round, W in the standard (FIPS 180-4, 6.2.2, step 1).
std::array<std::uint32_t, 64> expand_message_schedule(const std::byte* block) {
    std::array<std::uint32_t, 64> w;
    for (std::size_t i = 0; i < 16; ++i) w[i] = read_big_endian_word(block + 4 * i);
    for (std::size_t i = 16; i < 64; ++i) {
        const std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
        const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    return w;
}

}  // namespace

// The names of the variables are those of FIPS 180-4, 6.2.2; s0 and s1 are its functions Sigma.
void Sha256::absorb(State& state, const std::byte* block) {
    const std::array<std::uint32_t, 64> w = expand_message_schedule(block);
    auto [a, b, c, d, e, f, g, h] = state;
    for (std::size_t i = 0; i < 64; ++i) {
        const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
        const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
        const std::uint32_t choice = (e & f) ^ (~e & g);
        const std::uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
        const std::uint32_t t1 = h + s1 + choice + sha256_constants[i] + w[i];
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + s0 + majority;
    }
    const State change{a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < state.size(); ++i) state[i] += change[i];
}

void Sha256::update(std::span<const std::byte> bytes) {
    const std::size_t pending_count = total_bytes_ % block_bytes;
    total_bytes_ += bytes.size();
    if (pending_count > 0) {
        const std::size_t count = std::min(block_bytes - pending_count, bytes.size());
        std::copy_n(bytes.begin(), count, pending_bytes_.begin() + static_cast<std::ptrdiff_t>(pending_count));
        bytes = bytes.subspan(count);
        if (pending_count + count < block_bytes) return;
        absorb(state_, pending_bytes_.data());
    }
    if (bytes.size() >= min_accelerated_bytes && has_sha256_instructions()) {
        const std::size_t whole_block_bytes = bytes.size() / block_bytes * block_bytes;
        absorb_by_instructions(state_, bytes.first(whole_block_bytes));
        bytes = bytes.subspan(whole_block_bytes);
    }
    for (; bytes.size() >= block_bytes; bytes = bytes.subspan(block_bytes)) absorb(state_, bytes.data());
    std::copy(bytes.begin(), bytes.end(), pending_bytes_.begin());
}

std::string Sha256::hex() const {
    // The padding: a one bit, zeros, and the length in bits as a 64-bit number that ends a block.
    std::array<std::byte, 2 * block_bytes> tail{};
    const std::size_t pending_count = total_bytes_ % block_bytes;
    std::copy_n(pending_bytes_.begin(), pending_count, tail.begin());
    tail[pending_count] = std::byte{0x80};
    const std::size_t tail_bytes = pending_count + 9 <= block_bytes ? block_bytes : 2 * block_bytes;
    const std::uint64_t bits = total_bytes_ * 8;
    for (std::size_t i = 0; i < 8; ++i)
        tail[tail_bytes - 1 - i] = static_cast<std::byte>(bits >> (8 * i) & 0xff);

    State state = state_;
    for (std::size_t at = 0; at < tail_bytes; at += block_bytes) absorb(state, tail.data() + at);
    std::string text;
    for (const std::uint32_t word : state)
        for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[word >> shift & 0xf];
    return text;
}

// Hashes whole blocks of up to sixteen messages at a time. Stops when at most `max_serial_messages` messages
// have a whole block left.
void Sha256::absorb_together(std::span<Sha256> hashes, std::span<const std::span<const std::byte>> messages) {
    const auto blocks_left = [&](std::size_t m) {
        return (messages[m].size() - hashes[m].total_bytes_) / block_bytes;
    };
    while (true) {
        std::vector<std::size_t> active;
        for (std::size_t m = 0; m < messages.size() && active.size() < sha256_lanes; ++m)
            if (blocks_left(m) > 0) active.push_back(m);
        if (active.size() <= max_serial_messages) return;
        const std::size_t blocks = blocks_left(*std::ranges::min_element(active, {}, blocks_left));
        LaneStates lanes{};
        std::array<const std::byte*, sha256_lanes> next_blocks{};
        for (std::size_t l = 0; l < sha256_lanes; ++l) {
            const std::size_t m =
                active[std::min(l, active.size() - 1)];  // unused lanes repeat the last message
            next_blocks[l] = messages[m].data() + hashes[m].total_bytes_;
            for (std::size_t w = 0; w < lanes.size(); ++w) lanes[w][l] = hashes[m].state_[w];
        }
        absorb_by_lanes(lanes, next_blocks, blocks);
        for (std::size_t l = 0; l < active.size(); ++l) {
            hashes[active[l]].total_bytes_ += blocks * block_bytes;
            for (std::size_t w = 0; w < lanes.size(); ++w) hashes[active[l]].state_[w] = lanes[w][l];
        }
    }
}

std::vector<std::string> Sha256::hash_each(std::span<const std::span<const std::byte>> messages) {
    std::vector<Sha256> hashes(messages.size());
    if (messages.size() > max_serial_messages && has_sha256_lanes()) absorb_together(hashes, messages);
    std::vector<std::string> digests;
    for (std::size_t m = 0; m < messages.size(); ++m) {
        hashes[m].update(messages[m].subspan(hashes[m].total_bytes_));
        digests.push_back(hashes[m].hex());
    }
    return digests;
}

std::string sha256_hex(std::string_view bytes) {
    Sha256 hash;
    hash.update(bytes);
    return hash.hex();
}

}  // namespace trireme
