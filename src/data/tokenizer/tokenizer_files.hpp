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

// A token in a file of a tokenizer.
struct ListedToken {
    std::string spelling;  // bytes of ordinary tokens in GPT-2's spelling; special tokens as plain text
    std::uint32_t id;
};

// The unchecked contents of the files of a tokenizer.
struct Listing {
    std::string vocabulary_source;  // path of the list of tokens, for messages
    std::string merges_source;      // path of the list of merges, for messages
    std::vector<ListedToken> tokens;
    std::vector<ListedToken> specials;                        // may repeat entries of `tokens`
    std::vector<std::pair<std::string, std::string>> merges;  // spellings of the left and the right token
};

// Checks a listing and builds its vocabulary. Throws ConfigError for the first error, such as a gap in the ids,
// a token with two ids, an id with two tokens, a byte without a token, a merge of unknown tokens, or a token of
// several bytes that no merge produces. A token that is spelled like <pad> or [PAD] counts as special if no
// merge produces the token.
Vocabulary build_vocabulary(const Listing& listing);

// Parses the object {"spelling": id, ...}. Throws ConfigError for anything else. Here and below, `source` is
// the name of the file in messages.
std::vector<ListedToken> parse_tokens(const nlohmann::json& object, const std::string& source);

// Parses the id of the token `spelling`. Throws ConfigError for anything but an integer from 0 to 2^31 - 1.
std::uint32_t parse_id(const nlohmann::json& id, const std::string& spelling, const std::string& source);

// Parses a merge "left right". `number` is its number in the file, from 1, for messages. Throws ConfigError
// unless the text consists of two tokens.
std::pair<std::string, std::string> parse_merge(std::string_view text, std::size_t number,
                                                const std::string& source);

// Reads the vocabulary of a tokenizer from a folder or a file tokenizer.json. Throws ConfigError, which names
// the file, if a file is missing or invalid.
Vocabulary read_vocabulary(const std::filesystem::path& folder_or_file);

// Parses the text of a tokenizer.json. Throws ConfigError for every setting with which Hugging Face's library
// would produce other ids than GPT-2's algorithm.
Vocabulary parse_tokenizer_json(std::string_view text, const std::string& source);

// Returns the vocabulary as the text of a tokenizer.json, in one line with sorted keys: equal vocabularies give
// equal bytes.
std::string to_tokenizer_json(const Vocabulary& vocabulary);

}  // namespace trireme::data
