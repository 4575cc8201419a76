// Text that tools print: facts in columns, numbers, and text of unknown origin.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>

#include "trireme/base/numbers.hpp"

namespace trireme::tools {

// "  NAME        VALUE": the name in a column of its own; both as a terminal can show them.
void print_fact(std::ostream& out, const std::string& name, const std::string& value);

// Numbers as people read them: 314,067 and 1.9 MB.
std::string in_megabytes(double bytes);
std::string one_decimal(double value);

// The first `limit` bytes, whole UTF-8 characters only, with " ..." where there are more; signs that would
// disturb a terminal become dots.
std::string for_terminal(std::string text, std::size_t limit);

// The same on one line, for names and values.
std::string line_for_terminal(std::string text, std::size_t limit = 200);

}  // namespace trireme::tools
