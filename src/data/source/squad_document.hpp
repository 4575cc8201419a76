// Parses a SQuAD file (Rajpurkar et al. 2016; 2018 for questions without an answer).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trireme::data {

// Fields of this and the following structs stay empty if the file lacks them.
struct SquadAnswer {
    std::optional<std::string> text;
    std::optional<std::uint64_t> start;  // number of Unicode characters before the answer in the context
};

struct SquadQuestion {
    std::string id;
    std::string text;
    std::vector<SquadAnswer> answers;
    bool is_impossible = false;
};

struct SquadParagraph {
    std::size_t article = 0;  // index of its article in SquadDocument::titles
    std::string context;
    std::vector<SquadQuestion> questions;
};

struct SquadDocument {
    std::vector<std::string> titles;  // one per article
    std::vector<SquadParagraph> paragraphs;
};

// Parses the text of the file `file`. Throws ConfigError, which names the file, if the text is no JSON or has
// no list `data`.
SquadDocument parse_squad(std::string_view json, const std::string& file);

// Returns true if a JSON text that begins with `begin` is an object with a list `data`. The list must be empty,
// or its first element must be an object.
bool looks_like_squad(std::string_view begin);

}  // namespace trireme::data
