// Files that options name.
#pragma once

#include <string>

namespace trireme {

// Throws ConfigError: "--layout x.json cannot be read; name a file".
std::string read_text(const std::string& path, const char* option);

}  // namespace trireme
