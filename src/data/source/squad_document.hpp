// Parses a SQuAD file (Rajpurkar et al. 2016; 2018 for questions without an answer).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trireme::data {

// Fields that the file lacks stay empty.
struct SquadAnswer {
    std::optional<std::string> text;
    std::optional<std::uint64_t> start;  // number of Unicode characters before it in the context
};

struct SquadQuestion {
    std::string id;
    std::string text;
    std::vector<SquadAnswer> answers;
    bool is_impossible = false;
};

struct SquadParagraph {
    std::size_t article = 0;
    std::string context;
    std::vector<SquadQuestion> questions;
};

struct SquadDocument {
    std::vector<std::string> titles;  // titles of the articles
    std::vector<SquadParagraph> paragraphs;
};

// Throws ConfigError, which names `file`, for text that is no JSON or has no list `data`.
SquadDocument parse_squad(std::string_view json, const std::string& file);

// True if JSON that begins with `begin` is an object whose list `data` is empty or starts with an object.
bool begins_like_squad(std::string_view begin);

}  // namespace trireme::data
