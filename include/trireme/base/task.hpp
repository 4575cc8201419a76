// What a model learns from a row. Data and model both need the word: one builds the targets, the other the
// head.
#pragma once

#include <cstdint>

#include "trireme/base/named_values.hpp"

namespace trireme {

//   language   the next token, at every position
//   masked     the tokens that were hidden from it
//   span       where in a context the answer to a question begins and ends
//   classify   the class of a text, or of an image
enum class Task : std::uint8_t { language, masked, span, classify };

inline constexpr NamedValue<Task> all_tasks[]{
    {"language", Task::language, "next-token prediction"},
    {"masked", Task::masked, "masked-token prediction, as BERT's"},
    {"span", Task::span, "start and end of an answer in a context, as in SQuAD"},
    {"classify", Task::classify, "class of an image or a text"}};

// Returns "language" for Task::language.
inline const char* name_of(Task task) { return word_of(all_tasks, task); }

}  // namespace trireme
