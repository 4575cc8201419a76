// Tokenizers in GPT-2's style on disk: OpenAI's pair of files, and the tokenizer.json of Hugging Face.
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

// The object {"spelling": id, ...}. Throws ConfigError if it is anything else.
std::vector<ListedToken> parse_tokens(const nlohmann::json& object, const std::string& source);

// The id of the token `spelling`. Throws ConfigError for anything but a whole number below 2^31.
std::uint32_t parse_id(const nlohmann::json& id, const std::string& spelling, const std::string& source);

// The parts of "left right", the `number`th merge of `source`, counted from 1. Throws ConfigError if they are
// not two.
std::pair<std::string, std::string> parse_merge(std::string_view text, std::size_t number,
                                                const std::string& source);

// Reads a folder or a tokenizer.json. Throws ConfigError with the name of the file and what is wrong with it.
Vocabulary read_vocabulary(const std::filesystem::path& folder_or_file);

// The text of a tokenizer.json; `source` names it in messages. Throws ConfigError for every setting under which
// Hugging Face would make other ids than GPT-2's way does.
Vocabulary parse_tokenizer_json(std::string_view text, const std::string& source);

// The vocabulary as a tokenizer.json, one line, keys sorted: equal vocabularies give equal bytes.
std::string tokenizer_json(const Vocabulary& vocabulary);

}  // namespace trireme::data
