// What the files of a tokenizer say, before anything of it is believed.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "data/tokenizer/vocabulary.hpp"

namespace trireme {

struct ListedToken {
    std::string spelling;  // regular tokens in GPT-2's byte alphabet, special ones as they are
    std::uint32_t id;
};

struct Listing {
    std::string vocabulary_source;  // what messages call the list of tokens: a path
    std::string merges_source;      // the same for the merges
    std::vector<ListedToken> tokens;
    std::vector<ListedToken> specials;  // may repeat tokens of the list above
    std::vector<std::pair<std::string, std::string>> merges;
};

// Throws ConfigError with the first thing found wrong: ids with a hole or given twice, a byte without a token,
// a merge of unknown tokens, a token that no merge makes. (Of those, spellings like <pad> and [PAD] are taken
// for special.)
Vocabulary checked(const Listing& listing);

}  // namespace trireme
