// Finds pieces that are one token as a whole, as most words of a text are, without applying merges.
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

    std::optional<std::uint32_t> find(std::string_view word) const;

private:
    struct Slot {
        std::uint32_t fingerprint = 0;  // of the word's hash; avoids most comparisons
        std::uint32_t id = free;
    };

    static constexpr std::uint32_t free = 0xffffffff;

    std::span<const std::string> tokens_;
    std::vector<Slot> slots_;  // open addressing; the size is a power of two, at most half is used
};

}  // namespace trireme::data
