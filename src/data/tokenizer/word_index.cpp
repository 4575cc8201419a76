#include "data/tokenizer/word_index.hpp"

#include <bit>
#include <cstring>

namespace trireme::data {
namespace {

std::uint64_t compute_hash(std::string_view word) {
    constexpr std::uint64_t factor = 0x9e3779b97f4a7c15;
    std::uint64_t hash = word.size() * factor;
    while (!word.empty()) {
        const std::size_t chunk_bytes = word.size() < 8 ? word.size() : 8;
        std::uint64_t chunk = 0;
        std::memcpy(&chunk, word.data(), chunk_bytes);
        hash = (hash ^ chunk) * factor;
        hash ^= hash >> 32;
        word.remove_prefix(chunk_bytes);
    }
    return hash;
}

std::uint32_t compute_fingerprint(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

}  // namespace

WordIndex::WordIndex(std::span<const std::string> tokens, std::span<const std::uint32_t> ids)
    : tokens_(tokens), slots_(std::bit_ceil(2 * ids.size() + 2)) {
    for (const std::uint32_t id : ids) {
        const std::uint64_t hash = compute_hash(tokens[id]);
        std::size_t at = hash & (slots_.size() - 1);
        while (slots_[at].id != empty_slot_id) at = (at + 1) & (slots_.size() - 1);
        slots_[at] = {.fingerprint = compute_fingerprint(hash), .id = id};
    }
}

std::optional<std::uint32_t> WordIndex::find(std::string_view word) const {
    const std::uint64_t hash = compute_hash(word);
    std::size_t at = hash & (slots_.size() - 1);
    for (; slots_[at].id != empty_slot_id; at = (at + 1) & (slots_.size() - 1))
        if (slots_[at].fingerprint == compute_fingerprint(hash) && tokens_[slots_[at].id] == word)
            return slots_[at].id;
    return std::nullopt;
}

}  // namespace trireme::data
