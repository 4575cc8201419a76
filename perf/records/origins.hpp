// Each record names its commit, whether the tree was clean, and its command.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace trireme::perf {

// Returns one sentence per fault of the .json and .csv files below the folder. RECORDS/without-origin.txt
// lists the files that were recorded before records named these; a file in the list that names them, or is not
// there, is wrong, too. Run directories are not looked at: their manifest.json has the version.
std::vector<std::string> unnamed_origins(const std::filesystem::path& records);

}  // namespace trireme::perf
