// How the facts are found: a rank's machine, optional parts, a scratch folder, pairs of ranks.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tools/doctor/facts.hpp"
#include "trireme/comm/communicator.hpp"
#include "trireme/tools/doctor.hpp"

namespace trireme::tools::doctor {

// All but what has to be measured.
RankFacts own_facts(const DoctorPlace& place);

// `search_path` is PATH, `own_folder` where this program lies, `matrices` the library of matrix products, `mpi`
// the MPI library that this program runs on ("Open MPI v4.1.4"). Packages are those of jobs/install.sh.
std::vector<OptionalPart> optional_parts(const std::string& search_path, const std::string& own_folder,
                                         const std::string& matrices, const std::string& mpi);

// Writes so many bytes, syncs them to the disk, reads them again without the system's copy where it lets go of
// it, and compares; then writes, reads and sums a small HDF5 file. Leaves nothing behind. What cannot be done
// is a sentence of the result.
ScratchFacts measure_scratch(const std::filesystem::path& folder, std::size_t megabytes = 64);

// Rank 0 and its first neighbour, and rank 0 and the first rank of each other node: who is to be asked.
// `nodes` has each rank's node: see Session.
std::vector<std::pair<int, int>> pairs_of(const std::vector<int>& nodes);

// For the two of a pair alone: 0 is the first of them. Messages of eight bytes and of four megabytes go to and
// fro, one at a time; half of what that takes, the median of several rounds. A message that does not come is a
// ResourceError after the group's patience.
PairFacts measure_pair(comm::Communicator& group, const std::pair<int, int>& pair);

}  // namespace trireme::tools::doctor
