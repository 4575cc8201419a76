// Text for messages: quotes of untrusted text, suggestions for misspelt words, options without effect.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace trireme {

// Returns the first `limit` characters, followed by "..." if there are more. Control characters and bytes
// that are not UTF-8 are written as \n, \t, \r or \x1b, so that they reach neither a terminal nor a log.
std::string printable(std::string_view text, std::size_t limit = 100);

// Returns printable(text) in single quotes.
std::string in_quotes(std::string_view text);

// Returns the smallest number of insertions, deletions, replacements and swaps of neighbouring letters that
// turn one word into the other. No substring is edited twice. (Damerau, 1964)
std::size_t edit_distance(std::string_view from, std::string_view to);

// Returns the word of `known` that is nearest to `word`, ignoring case. A prefix of a known word counts as
// one edit. Empty if more than two fifths of the letters would have to change. The first word wins a tie.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known);

// Returns "; did you mean --batch?" with the word of nearest() after `mark` ("--"), or an empty string.
std::string did_you_mean(std::string_view word, std::span<const std::string> known, std::string_view mark = "");

// The condition under which an option has an effect, in words, and a setting that fulfils it.
struct OptionNeed {
    std::string condition;  // "a policy that moves state"
    std::string remedy;     // "--straggler uneven"
};

// Returns "--horizon has no effect without a policy that moves state; set --straggler uneven or drop
// --horizon".
std::string no_effect(const std::string& option, const OptionNeed& need);

}  // namespace trireme
