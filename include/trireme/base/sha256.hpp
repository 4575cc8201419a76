// SHA-256 (FIPS 180-4), the hash that identifies, for example, corpora, tokenizers and plans.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trireme {

// Hashes one message, whose bytes may arrive in any number of portions:
//   Sha256 hash;
//   hash.update(first_bytes);
//   hash.update(more_bytes);
//   hash.hex();  // digest of all bytes
class Sha256 {
public:
    void update(std::span<const std::byte> bytes);
    void update(std::string_view bytes) { update(std::as_bytes(std::span(bytes.data(), bytes.size()))); }

    // Returns the digest of all bytes so far: 64 lower-case hexadecimal digits. More bytes may follow.
    std::string hex() const;

    // Returns the digest of each message. Hashes up to sixteen messages at a time, one per vector lane. This is
    // fastest if the messages have similar lengths.
    static std::vector<std::string> hash_each(std::span<const std::span<const std::byte>> messages);

private:
    static constexpr std::size_t block_bytes = 64;
    using State = std::array<std::uint32_t, 8>;

    static void absorb(State& state, const std::byte* block);  // updates `state` by one block of the message
    // Updates hashes[i] by whole blocks of messages[i], from the first block on, for each i. Stops when only a
    // few messages have a whole block left. hash_each() then hashes the remaining bytes of each message.
    static void absorb_together(std::span<Sha256> hashes, std::span<const std::span<const std::byte>> messages);

    // The initial state: the first 32 bits of the fractional parts of the square roots of the first eight
    // primes.
    State state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    // The incomplete block: the first total_bytes_ % 64 elements are bytes of the message.
    std::array<std::byte, block_bytes> pending_bytes_{};
    std::uint64_t total_bytes_ = 0;  // bytes of the message so far
};

// Returns the digest of `bytes`: 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace trireme
