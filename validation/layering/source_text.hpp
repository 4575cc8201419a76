// A C++ source as the checks see it: its includes, its code without comments and literals, and its
// comments.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace trireme::layering {

struct Include {
    std::size_t line;    // from 1
    std::string header;  // between the quotes or angles; empty if it is a macro
    bool quoted;
};

// Returns `text` with every comment and every literal replaced by blanks. Line ends stay, so a line of the
// result is the same line of the source. Handles raw strings and digit separators.
std::string blank_comments_and_literals(const std::string& text);

// Returns `text` with everything but its comments replaced by blanks. Line ends stay.
std::string blank_code(const std::string& text);

// Returns the includes in the order of the text, without those inside comments.
std::vector<Include> includes(const std::string& text);

// Returns the lines without their line ends; a last line without one counts.
std::vector<std::string> lines(const std::string& text);

}  // namespace trireme::layering
