// Text of unknown origin in messages: option values, keys of files, names that a file gives.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace trireme {

// The first `limit` characters, with "..." after them if there are more. Control characters and bytes that are
// not UTF-8 are written as \n, \t, \r or \x1b, so that they reach neither a terminal nor a log.
std::string printable(std::string_view text, std::size_t limit = 100);

// The same in single quotes.
std::string in_quotes(std::string_view text);

}  // namespace trireme
