// Finds a command as a shell does.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace trireme {

// Returns nothing if no folder of `search_path` has the command. The path is the PATH of the environment.
std::optional<std::filesystem::path> command_path(const std::string& search_path, const std::string& name);

}  // namespace trireme
