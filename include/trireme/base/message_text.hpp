// Words of messages: text of unknown origin, hints at a misspelt word, options without effect.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace trireme {

// The first `limit` characters, with "..." after them if there are more. Control characters and bytes that are
// not UTF-8 are written as \n, \t, \r or \x1b, so that they reach neither a terminal nor a log.
std::string printable(std::string_view text, std::size_t limit = 100);

// The same in single quotes.
std::string in_quotes(std::string_view text);

// Letters to insert, delete, replace or swap with their neighbour to get from one word to the other.
// (Damerau, 1964; each stretch is edited once)
std::size_t edit_distance(std::string_view from, std::string_view to);

// The word of `known` nearest to `word`, whatever their case; the beginning of a known word is near to it.
// None where more than two fifths of the letters would have to change; the first of equals.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known);

// "; did you mean --batch?" for nearest(), with `mark` ("--") before the word, or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string> known, std::string_view mark = "");

// The condition under which an option has an effect, in words, and a setting that meets it.
struct OptionNeed {
    std::string condition;  // "a policy that moves state"
    std::string remedy;     // "--straggler uneven"
};

// "--horizon has no effect without a policy that moves state; set --straggler uneven or drop --horizon"
std::string no_effect(const std::string& option, const OptionNeed& need);

}  // namespace trireme
