// What is in a folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace trireme {

// The names of all that is in the folder, sorted. Throws ConfigError where it cannot be listed.
std::vector<std::string> names_in(const std::filesystem::path& folder);

// Throws ConfigError where anything is at `folder` but an empty folder, or nothing at all.
void refuse_unless_empty(const std::filesystem::path& folder);

}  // namespace trireme
