// Lists folders and makes names that no other process chooses.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace trireme::archive {

// Returns the sorted names of all entries of the folder. Throws ConfigError if it cannot be listed.
std::vector<std::string> names_in(const std::filesystem::path& folder);

// Throws ConfigError unless `folder` does not exist or is an empty folder.
void refuse_unless_empty(const std::filesystem::path& folder);

// Number of hexadecimal digits that make a name unique among processes of all machines.
constexpr int random_name_length = 8;

// Returns `count` random hexadecimal digits.
std::string random_digits(int count = random_name_length);

}  // namespace trireme::archive
