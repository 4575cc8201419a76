// Lists folders, and makes random names that no other process chooses.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace trireme::archive {

// Returns the sorted names of all entries of the folder. Throws ConfigError if the folder cannot be listed.
std::vector<std::string> list_names(const std::filesystem::path& folder);

// Throws ConfigError if `folder` exists and is not an empty folder.
void require_empty_folder(const std::filesystem::path& folder);

// Number of random hexadecimal digits that make a name unique among the processes of all machines.
constexpr int random_digit_count = 8;

// Returns `count` random hexadecimal digits.
std::string make_random_digits(int count = random_digit_count);

}  // namespace trireme::archive
