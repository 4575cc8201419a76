// Where a command is that a shell would start.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace trireme {

// `search_path` is that of the environment: folders with colons between them.
std::optional<std::filesystem::path> command_path(const std::string& search_path, const std::string& name);

}  // namespace trireme
