// Text for messages: quoted untrusted text, suggestions for misspelt words, and options that have no effect.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace trireme {

// Returns the first `limit` characters of `text`, followed by "..." if there are more. Control characters and
// bytes that are not UTF-8 are replaced by escapes such as \n and \x1b, so that they cannot disturb a terminal
// or a log.
std::string make_printable(std::string_view text, std::size_t limit = 100);

// Returns make_printable(text) in single quotes.
std::string quote_text(std::string_view text);

// Returns the smallest number of insertions, deletions, replacements and swaps of neighbouring letters that
// turn one word into the other. No substring is edited twice. (Damerau, 1964)
std::size_t compute_edit_distance(std::string_view from, std::string_view to);

// Returns the word of `known` with the smallest edit distance to `word`, ignoring case; the first one in case
// of a tie. If `word` has two or more letters and is a prefix of a known word, the distance to this known word
// is 1. A known word is ignored if its distance exceeds two fifths of the length of the longer word. Returns
// nullopt if no known word remains.
std::optional<std::string> find_nearest_word(std::string_view word, std::span<const std::string> known);

// Returns a text such as "; did you mean --batch?", with the word of find_nearest_word() after `prefix` (here
// "--"). Returns an empty string if find_nearest_word() finds no word.
std::string suggest_word(std::string_view word, std::span<const std::string> known,
                         std::string_view prefix = "");

// The condition under which an option has an effect.
struct OptionNeed {
    std::string condition;  // for example "a policy that re-shards the model"
    std::string remedy;     // a setting that fulfils the condition, for example "--straggler uneven"
};

// Returns a text such as "--horizon has no effect without a policy that re-shards the model; set --straggler
// uneven or drop --horizon".
std::string describe_no_effect(const std::string& option, const OptionNeed& need);

}  // namespace trireme
