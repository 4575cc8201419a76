// Names in a folder: those that it has, and names that no other process chooses.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace trireme::archive {

// The names of all that is in the folder, sorted. Throws ConfigError where it cannot be listed.
std::vector<std::string> names_in(const std::filesystem::path& folder);

// Throws ConfigError where anything is at `folder` but an empty folder, or nothing at all.
void refuse_unless_empty(const std::filesystem::path& folder);

// Names that no other process chooses, on this machine or another.
constexpr int random_name_length = 8;

// So many hexadecimal digits, others on every call.
std::string random_digits(int count = random_name_length);

}  // namespace trireme::archive
