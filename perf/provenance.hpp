// The origin of a record: commit, state of the tree and command, with which the record can be made again.
#pragma once

#include <nlohmann/json.hpp>

namespace trireme::perf {

// Returns {"commit": "2e29447", "tree": "clean" or "with changes", "command": "perf_checkpoint /data"}: the
// commit that the program was built from, whether tracked files differed from the commit at the build, and the
// command line.
// perf/provenance.sh writes the same members for scripts.
nlohmann::ordered_json provenance(int argc, const char* const* argv);

}  // namespace trireme::perf
