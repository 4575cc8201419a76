// Text of unknown origin, as a terminal can show it.
#pragma once

#include <cstddef>
#include <string>

namespace trireme {

// The first `limit` bytes, whole UTF-8 characters only, with " ..." where there are more; signs that would
// disturb a terminal become dots.
std::string for_terminal(std::string text, std::size_t limit);

// The same on one line, for names and values.
std::string line_for_terminal(std::string text, std::size_t limit = 200);

}  // namespace trireme
