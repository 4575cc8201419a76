// A SQuAD file as it is written (Rajpurkar et al. 2016; 2018 for questions without an answer).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trireme::data {

// What the file lacks is left empty.
struct SquadAnswer {
    std::optional<std::string> text;
    std::optional<std::uint64_t> start;  // Unicode characters before it in the context
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
    std::vector<std::string> titles;  // of the articles
    std::vector<SquadParagraph> paragraphs;
};

// Throws ConfigError, which names `file`, for what is no JSON, or has no list `data`.
SquadDocument parse_squad(std::string_view json, const std::string& file);

// Whether JSON that begins like this is an object with a list `data` of objects, or an empty one.
bool begins_like_squad(std::string_view begin);

}  // namespace trireme::data
