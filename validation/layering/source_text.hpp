// A C++ source as the checks see it: its includes, its code without comments and literals, and its
// comments.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace trireme::layering {

struct Include {
    std::size_t line;    // from 1
    std::string header;  // what stands between the quotes or angles; empty where a macro stands there
    bool quoted;
};

// `text` with every comment and the inside of every literal replaced by blanks. Line ends stay, so a line of
// the result is the same line of the source. Knows raw strings and digit separators.
std::string code_only(const std::string& text);

// `text` with everything but its comments replaced by blanks. Line ends stay.
std::string comments_only(const std::string& text);

// In the order of the text; includes inside comments are not there.
std::vector<Include> includes(const std::string& text);

// Without the line ends; a last line without one counts.
std::vector<std::string> lines(const std::string& text);

}  // namespace trireme::layering
