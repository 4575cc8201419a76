// Looks up pre-tokens that are a single token, without applying merges. Most pre-tokens of a text are a single
// token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trireme::data {

class WordIndex {
public:
    // Indexes tokens[id] for every id in `ids`. The strings must outlive the index.
    WordIndex(std::span<const std::string> tokens, std::span<const std::uint32_t> ids);

    // Returns the id of the token with the bytes `word`, or nullopt.
    std::optional<std::uint32_t> find(std::string_view word) const;

private:
    struct Slot {
        std::uint32_t fingerprint = 0;  // half of the hash of the token; avoids most comparisons
        std::uint32_t id = empty_slot_id;
    };

    static constexpr std::uint32_t empty_slot_id = 0xffffffff;

    std::span<const std::string> tokens_;
    // A hash table with open addressing. Its size is a power of two, and at most half of its slots are used.
    std::vector<Slot> slots_;
};

}  // namespace trireme::data
