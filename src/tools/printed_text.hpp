// Formats text that tools print: facts in columns, numbers, and text from untrusted files.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>

#include "trireme/base/numbers.hpp"

namespace trireme::tools {

// Prints the line "  NAME        VALUE", in which values are aligned. Name and value pass through
// sanitise_line(), the value with a limit of 2000 bytes.
void print_fact(std::ostream& out, const std::string& name, const std::string& value);

// Format numbers with one decimal: "1.9 MB" and "1.9".
std::string format_megabytes(double bytes);
std::string format_one_decimal(double value);

// Returns at most the first `limit` bytes of the text, cut to whole UTF-8 characters, and " ..." if the text is
// longer. Control characters other than newline and tab become dots.
std::string sanitise_for_terminal(std::string text, std::size_t limit);

// Returns sanitise_for_terminal(text, limit) on one line: newlines and tabs become dots, too.
std::string sanitise_line(std::string text, std::size_t limit = 200);

}  // namespace trireme::tools
