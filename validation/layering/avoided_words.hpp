// Finds words and names that the sources avoid. docs/design/glossary.md lists them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace trireme::layering {

struct AvoidedWords {
    std::set<std::string> phrases = {};   // one or two words that a comment may not contain, in lower case
    std::vector<std::string> names = {};  // patterns of identifiers; `*` stands for any characters
    std::set<std::string> openings = {};  // words with which a comment may not begin
};

// Reads the left column of the table "Words to avoid" of the glossary. Text in backticks is the pattern of a
// name, an entry that ends in "..." an opening, and any other entry a phrase.
AvoidedWords read_avoided_words(const std::string& glossary);

// Returns the avoided words in a C++ source, each with its line, such as "12: `word`". Literals and text in
// backticks are not checked.
std::vector<std::string> find_avoided_words(const AvoidedWords& avoided, const std::string& text);

// Returns the findings in all C++ sources below `root`, such as "src/data/batch.cpp:12: `word`".
std::vector<std::string> find_avoided_words_below(const AvoidedWords& avoided,
                                                  const std::filesystem::path& root);

}  // namespace trireme::layering
