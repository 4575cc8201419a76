// Files in which the system reports numbers, such as /proc/meminfo.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

namespace trireme {

// Returns the number after the word `label`, or nothing if the file or the word is missing.
std::optional<std::size_t> number_after(const std::filesystem::path& path, const std::string& label);

}  // namespace trireme
