// The tokens of a byte-pair encoding, and how they are learned from texts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trireme::data {

// What defines a byte-level BPE tokenizer, as plain data.
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

// Learns byte-pair merges (Sennrich et al. 2016, algorithm 1) within GPT-2's pieces of the texts: the most
// frequent pair of neighbours becomes a token, of equally frequent ones the pair whose bytes come first (the
// left token's, then the right one's), until there are `vocabulary_size` tokens or no pair occurs twice. The
// end token comes last. Throws ConfigError below 257.
Vocabulary learn_merges(std::span<const std::string> texts, std::size_t vocabulary_size);

}  // namespace trireme::data
