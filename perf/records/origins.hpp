// Checks that each record names its commit, whether the tree was clean, and its command.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace trireme::perf {

// Returns one sentence per fault of the .json and .csv files below the folder `records`. Its without-origin.txt
// lists the files that were recorded before records named their origin (commit, tree and command). A listed
// file that names its origin, or does not exist, is also a fault. Run directories are not checked: their
// manifest.json has the version.
std::vector<std::string> find_unnamed_origins(const std::filesystem::path& records);

}  // namespace trireme::perf
