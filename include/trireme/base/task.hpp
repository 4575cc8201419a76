// What a model learns from a row. Data and model both need the word: one builds the targets, the other the
// head.
#pragma once

#include <cstdint>

namespace trireme {

//   language   the next token, at every position
//   masked     the tokens that were hidden from it
//   span       where in a context the answer to a question begins and ends
//   classify   the class of a text, or of an image
enum class Task : std::uint8_t { language, masked, span, classify };

const char* name_of(Task task);  // "language"

}  // namespace trireme
