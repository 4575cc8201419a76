// The known word that somebody most likely meant.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace trireme {

// Letters to insert, delete, replace or swap with their neighbour to get from one word to the other.
// (Damerau, 1964; each stretch is edited once)
std::size_t edit_distance(std::string_view from, std::string_view to);

// The word of `known` nearest to `word`, whatever their case; the beginning of a known word is near to it.
// None where more than two fifths of the letters would have to change; the first of equals.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known);

// "; did you mean --batch?" for nearest(), with `mark` ("--") before the word, or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string> known, std::string_view mark = "");

}  // namespace trireme
