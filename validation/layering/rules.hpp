// Checks a source tree against the layering rules.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "layering/house.hpp"

namespace trireme::layering {

// Returns the violations below `root`, each as "src/data/corpus.cpp:12: what is wrong; what to do".
//
// In include/ and src/: includes without a door between their rooms, or between folders of a room; includes
// that climb with "..", reach into another room or, in include/, into src/; more includes in a file than the
// limit; vendor headers outside their folders; impure headers in pure rooms; environment variables outside
// src/app/environment.cpp; MPI_SUM anywhere; declarations in another room's namespace; a class defined in two
// sources; folders above the limit of sources. In include/, src/, validation/ and perf/: files above the limit
// of lines, and names without meaning.
std::vector<std::string> violations(const House& house, const std::filesystem::path& root);

}  // namespace trireme::layering
