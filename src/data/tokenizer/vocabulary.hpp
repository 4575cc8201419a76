// What defines a byte-level BPE tokenizer, as plain data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trireme {

inline constexpr std::size_t byte_values = 256;
inline constexpr std::string_view end_of_text = "<|endoftext|>";

// The neighbours `left` and `right` become the one token `result`.
struct Merge {
    std::uint32_t left;
    std::uint32_t right;
    std::uint32_t result;
};

struct Vocabulary {
    std::vector<std::string> tokens;                       // by id: the bytes a token stands for
    std::vector<Merge> merges;                             // the first is applied first
    std::vector<std::uint32_t> specials;                   // ascending; ids that text never becomes
    std::array<std::uint32_t, byte_values> byte_tokens{};  // the token of each byte

    // The special token of that spelling.
    std::optional<std::uint32_t> special_token(std::string_view spelling) const;
};

// The 256 bytes in order and the end token: what raw bytes use and training begins with.
Vocabulary byte_vocabulary();

}  // namespace trireme
