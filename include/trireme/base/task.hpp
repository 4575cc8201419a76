// What a model learns from a row. Data and model both need the word: one builds the targets, the other the
// head.
#pragma once

#include <cstdint>

#include "trireme/base/error.hpp"

namespace trireme {

//   language   the next token, at every position
//   masked     the tokens that were hidden from it
//   span       where in a context the answer to a question begins and ends
//   classify   the class of a text, or of an image
enum class Task : std::uint8_t { language, masked, span, classify };

// Returns "language" for Task::language.
inline const char* name_of(Task task) {
    switch (task) {
        case Task::language:
            return "language";
        case Task::masked:
            return "masked";
        case Task::span:
            return "span";
        case Task::classify:
            return "classify";
    }
    throw BugError("unknown task");
}

}  // namespace trireme
