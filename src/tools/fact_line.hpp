// One fact of what `trireme inspect` describes.
#pragma once

#include <ostream>
#include <string>

namespace trireme {

// "  NAME        VALUE": the name in a column of its own; both as a terminal can show them.
void print_fact(std::ostream& out, const std::string& name, const std::string& value);

}  // namespace trireme
