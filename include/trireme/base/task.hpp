// The training task of a model. The task determines the targets that src/data builds, and the head of the
// model.
#pragma once

#include <cstdint>

#include "trireme/base/named_values.hpp"

namespace trireme {

// The task says what is predicted:
//   language   the next token, at every position
//   masked     the tokens that were masked
//   span       the start and end of the answer to a question in a context
//   classify   the class of a text or of an image
enum class Task : std::uint8_t { language, masked, span, classify };

inline constexpr NamedValue<Task> all_tasks[]{
    {"language", Task::language, "next-token prediction"},
    {"masked", Task::masked, "masked-token prediction, as in BERT"},
    {"span", Task::span, "start and end of an answer in a context, as in SQuAD"},
    {"classify", Task::classify, "class of an image or a text"}};

// Returns "language" for Task::language.
inline const char* to_string(Task task) { return find_name(all_tasks, task); }

}  // namespace trireme
