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
RankFacts gather_own_facts(const DoctorInputs& inputs);

// Looks for optional software. `search_path` is the value of PATH and `program_folder` the folder of this
// program. `matmul_library` is the matmul library and `mpi_library` the MPI library of this program ("Open MPI
// v4.1.4"). Package names are those of jobs/install.sh.
std::vector<OptionalSoftware> find_optional_software(const std::string& search_path,
                                                     const std::string& program_folder,
                                                     const std::string& matmul_library,
                                                     const std::string& mpi_library);

// Writes a file of `megabytes` MB, syncs it to the disk, reads it back, past the page cache if possible, and
// compares the contents. Then writes and reads a small HDF5 file and compares checksums. Removes all files.
// Failures are described in the result.
ScratchFacts measure_scratch(const std::filesystem::path& folder, std::size_t megabytes = 64);

// Returns the pairs to measure: rank 0 and the next rank of its node, and rank 0 and the first rank of each
// other node. `nodes` has each rank's node: see Session.
std::vector<std::pair<int, int>> list_pairs(const std::vector<int>& nodes);

// Called by the two ranks of `pair` only. Messages of 8 bytes and then of 4 MiB travel back and forth between
// them, one at a time. Returns half of the round-trip time, the median of several rounds. Throws ResourceError
// if a message does not arrive within the group's stall limit.
PairFacts measure_pair(comm::Communicator& group, const std::pair<int, int>& pair);

}  // namespace trireme::tools::doctor
