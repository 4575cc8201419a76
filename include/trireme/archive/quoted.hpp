// Names that a file gave, in messages.
#pragma once

#include <string>
#include <string_view>

namespace trireme {

// In single quotes, short, and without signs that would disturb a terminal.
std::string in_quotes(std::string_view name);

}  // namespace trireme
