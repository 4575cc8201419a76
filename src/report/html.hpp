// Pieces of HTML.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trireme::report {

// The text as HTML shows it, in elements and in quoted attributes.
std::string escaped(std::string_view text);

// <name class="kind">content</name>; no class where `kind` is empty. `content` is HTML.
std::string element(const char* name, const std::string& content, const char* kind = "");

// Rows of cells, which are HTML; the first row is the head where `has_head`, the first cell of others their
// name.
std::string table(const std::vector<std::vector<std::string>>& rows, bool has_head);

}  // namespace trireme::report
