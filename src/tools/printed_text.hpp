// Text that tools print: facts in columns, numbers, and untrusted text.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>

#include "trireme/base/numbers.hpp"

namespace trireme::tools {

// Prints "  NAME        VALUE" with the values aligned. Name and value pass through line_for_terminal().
void print_fact(std::ostream& out, const std::string& name, const std::string& value);

// Format numbers for people: 1.9 MB and 1.9.
std::string in_megabytes(double bytes);
std::string one_decimal(double value);

// Returns the first `limit` bytes, cut to whole UTF-8 characters, followed by " ..." if there are more. Control
// characters other than newline and tab become dots.
std::string for_terminal(std::string text, std::size_t limit);

// Returns for_terminal(text, limit) on one line: newlines and tabs become dots, too.
std::string line_for_terminal(std::string text, std::size_t limit = 200);

}  // namespace trireme::tools
