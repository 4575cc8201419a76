// Reads and writes tokenizers in GPT-2's style: OpenAI's pair of files, and Hugging Face's tokenizer.json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/tokenizer/vocabulary.hpp"

namespace trireme::data {

// What the files of a tokenizer say, before anything of it is believed.
struct ListedToken {
    std::string spelling;  // regular tokens in GPT-2's byte alphabet, special ones as they are
    std::uint32_t id;
};

struct Listing {
    std::string vocabulary_source;  // path of the list of tokens, for messages
    std::string merges_source;      // path of the list of merges, for messages
    std::vector<ListedToken> tokens;
    std::vector<ListedToken> specials;  // may repeat entries of `tokens`
    std::vector<std::pair<std::string, std::string>> merges;
};

// Checks a listing and builds its vocabulary. Throws ConfigError for the first error: ids with a hole or given
// twice, a byte without a token, a merge of unknown tokens, or a token that no merge makes. Among tokens that
// no merge makes, spellings like <pad> and [PAD] count as special.
Vocabulary checked(const Listing& listing);

// Parses the object {"spelling": id, ...}. Throws ConfigError for anything else.
std::vector<ListedToken> parse_tokens(const nlohmann::json& object, const std::string& source);

// Parses the id of the token `spelling`. Throws ConfigError for anything but an integer from 0 to 2^31 - 1.
std::uint32_t parse_id(const nlohmann::json& id, const std::string& spelling, const std::string& source);

// Parses "left right", merge number `number` of `source`, counted from 1. Throws ConfigError if there are not
// two parts.
std::pair<std::string, std::string> parse_merge(std::string_view text, std::size_t number,
                                                const std::string& source);

// Reads a folder or a tokenizer.json. Throws ConfigError, which names the file and the error.
Vocabulary read_vocabulary(const std::filesystem::path& folder_or_file);

// Parses a tokenizer.json; `source` names it in messages. Throws ConfigError for every setting with which
// Hugging Face would produce other ids than GPT-2's algorithm.
Vocabulary parse_tokenizer_json(std::string_view text, const std::string& source);

// Returns the vocabulary as a tokenizer.json with one line and sorted keys: equal vocabularies give equal
// bytes.
std::string tokenizer_json(const Vocabulary& vocabulary);

}  // namespace trireme::data
