// GPT-2 style tokenizers on disk: OpenAI's pair of files, and the tokenizer.json of Hugging Face.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "data/tokenizer/vocabulary.hpp"

namespace trireme {

// Reads a folder or a tokenizer.json. Throws ConfigError with the name of the file and what is wrong with it.
Vocabulary read_vocabulary(const std::filesystem::path& folder_or_file);

// The text of a tokenizer.json; `source` names it in messages. Throws ConfigError for every setting under which
// Hugging Face would make other ids than GPT-2's way does.
Vocabulary parse_tokenizer_json(std::string_view text, const std::string& source);

// The vocabulary as a tokenizer.json, one line, keys sorted: equal vocabularies give equal bytes.
std::string tokenizer_json(const Vocabulary& vocabulary);

}  // namespace trireme
