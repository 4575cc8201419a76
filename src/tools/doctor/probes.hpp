// Probes that gather the facts: a rank's machine, optional software, a scratch folder, pairs of ranks.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tools/doctor/facts.hpp"
#include "trireme/comm/communicator.hpp"
#include "trireme/tools/doctor.hpp"

namespace trireme::tools::doctor {

// Returns the facts that need no measurement.
RankFacts own_facts(const DoctorPlace& place);

// Looks for optional software. `search_path` is the value of PATH and `own_folder` the folder of this program.
// `matrices` is the matmul library and `mpi` the MPI library of this program ("Open MPI v4.1.4"). Package names
// are those of jobs/install.sh.
std::vector<OptionalPart> optional_parts(const std::string& search_path, const std::string& own_folder,
                                         const std::string& matrices, const std::string& mpi);

// Writes `megabytes` MB, syncs them to the disk, reads them back past the page cache if possible, and
// compares. Then it writes, reads and checksums a small HDF5 file. Removes all files. A failure is a
// sentence of the result.
ScratchFacts measure_scratch(const std::filesystem::path& folder, std::size_t megabytes = 64);

// Returns the pairs to measure: rank 0 and the next rank of its node, and rank 0 and the first rank of each
// other node. `nodes` has each rank's node: see Session.
std::vector<std::pair<int, int>> pairs_of(const std::vector<int>& nodes);

// Point-to-point between the two ranks of `pair`; only they call it. Messages of 8 bytes and of 4 MiB pass back
// and forth, one at a time. Returns half of the round trip, as the median of several rounds. Throws
// ResourceError if a message does not arrive within the group's patience.
PairFacts measure_pair(comm::Communicator& group, const std::pair<int, int>& pair);

}  // namespace trireme::tools::doctor
