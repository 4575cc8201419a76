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

inline constexpr std::size_t byte_values = 256;
inline constexpr std::string_view end_of_text = "<|endoftext|>";

// The rule that neighbouring tokens `left` and `right` are replaced by the token `result`. All three are token
// ids.
struct Merge {
    std::uint32_t left;
    std::uint32_t right;
    std::uint32_t result;
};

// The data that define a byte-level BPE tokenizer.
struct Vocabulary {
    std::vector<std::string> tokens;                       // by id: the bytes of the token
    std::vector<Merge> merges;                             // in the order of application
    std::vector<std::uint32_t> specials;                   // ascending ids that encode() never returns for text
    std::array<std::uint32_t, byte_values> byte_tokens{};  // token of each byte

    // Returns the id of the special token with this spelling, or nullopt.
    std::optional<std::uint32_t> find_special_token(std::string_view spelling) const;
};

// Returns the vocabulary of the 256 bytes, in ascending order, and the end-of-text token. Used for raw bytes
// and as the start of training.
Vocabulary make_byte_vocabulary();

// Learns a vocabulary from texts (Sennrich et al. 2016, algorithm 1). Splits the texts into GPT-2's pre-tokens,
// and repeatedly makes the most frequent pair of neighbouring tokens in a pre-token a new token. Of equally
// frequent pairs, the pair whose left token has the lexicographically smallest bytes is chosen; if the left
// tokens are equal, the right tokens decide. Stops at `vocabulary_size` tokens, or if no pair occurs twice. The
// end-of-text token comes last. Throws ConfigError if `vocabulary_size` is below 257.
Vocabulary learn_vocabulary(std::span<const std::string> texts, std::size_t vocabulary_size);

}  // namespace trireme::data
