// Functions that gather the facts on a rank's machine, optional software, a scratch folder and pairs of ranks.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tools/doctor/facts.hpp"
#include "trireme/comm/communicator.hpp"
#include "trireme/tools/doctor.hpp"

namespace trireme::tools::doctor {

// Returns the facts of this rank that need no measurement.
RankFacts gather_own_facts(const DoctorInputs& inputs);

// Looks for optional software, and returns one entry for each, installed or not. `search_path` is the value of
// PATH, and `program_folder` is the folder of this program. `matmul_library` (for example "oneDNN 2.6.3") and
// `mpi_library` (for example "Open MPI v4.1.4") name the libraries of this program.
std::vector<OptionalSoftware> find_optional_software(const std::string& search_path,
                                                     const std::string& program_folder,
                                                     const std::string& matmul_library,
                                                     const std::string& mpi_library);

// Writes a file of `megabytes` MB and syncs it to the disk. Drops the file from the page cache if possible,
// reads it back, and compares the contents. Then writes and reads a small HDF5 file and compares checksums.
// Removes all files. The result describes failures.
ScratchFacts measure_scratch(const std::filesystem::path& folder, std::size_t megabytes = 64);

// Returns the pairs to measure: rank 0 and the next rank of its node, and rank 0 and the first rank of
// every other node. `nodes` has one entry per rank, the lowest rank of its node: see Session::nodes().
std::vector<std::pair<int, int>> list_pairs(const std::vector<int>& nodes);

// Point-to-point between the two ranks of `pair`, which both call this. Messages of 8 bytes and then of 4 MiB
// travel back and forth, one at a time, in several rounds of messages. The time of a message is the seconds of
// a round divided by the number of its messages, and the result is the median of the rounds. Throws
// ResourceError if a message does not arrive within the group's stall limit.
PairFacts measure_pair(comm::Communicator& group, const std::pair<int, int>& pair);

}  // namespace trireme::tools::doctor
