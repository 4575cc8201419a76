// The rules of the house, applied to a source tree.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "layering/house.hpp"

namespace trireme::layering {

// What is wrong below root, as "src/data/corpus.cpp:12: what, and what to do", in the order of files and lines.
//
// In include/ and src/: includes that open no door of the house, climb with "..", reach into another room or,
// in include/, into src/; vendor headers outside their folders; impure headers in pure rooms; environment
// variables outside src/app/environment.cpp; MPI_SUM anywhere. Folders above the limit of
// sources, and includes that open no door between folders of a room. In include/, src/, validation/ and perf/:
// files above the limit of lines, and names that say nothing.
std::vector<std::string> violations(const House& house, const std::filesystem::path& root);

}  // namespace trireme::layering
