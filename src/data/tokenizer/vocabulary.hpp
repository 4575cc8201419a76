// The vocabulary of a byte-pair encoding, and how it is learned from texts.
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

// The data that define a byte-level BPE tokenizer.
inline constexpr std::size_t byte_values = 256;
inline constexpr std::string_view end_of_text = "<|endoftext|>";

// Replaces the neighbours `left` and `right` by the token `result`.
struct Merge {
    std::uint32_t left;
    std::uint32_t right;
    std::uint32_t result;
};

struct Vocabulary {
    std::vector<std::string> tokens;                       // by id: the bytes of the token
    std::vector<Merge> merges;                             // in the order of application
    std::vector<std::uint32_t> specials;                   // ascending ids that encode() never returns for text
    std::array<std::uint32_t, byte_values> byte_tokens{};  // token of each byte

    // Returns the special token with this spelling, or nullopt.
    std::optional<std::uint32_t> special_token(std::string_view spelling) const;
};

// Returns the 256 bytes in order and the end token. Used for raw bytes and as the start of training.
Vocabulary byte_vocabulary();

// Learns byte-pair merges (Sennrich et al. 2016, algorithm 1) within GPT-2's pieces of the texts. The most
// frequent pair of neighbours becomes a token; the bytes of the left, then of the right token break ties.
// Learning stops at `vocabulary_size` tokens or if no pair occurs twice. The end token comes last. Throws
// ConfigError if `vocabulary_size` is below 257.
Vocabulary learn_merges(std::span<const std::string> texts, std::size_t vocabulary_size);

}  // namespace trireme::data
