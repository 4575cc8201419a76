// Bytes of messages and live handles of a rank, counted through the MPI profiling interface.
#pragma once

#include <cstddef>
#include <vector>

namespace trireme::validation {

struct MpiCounts {
    std::size_t sent_bytes = 0;          // by messages and collectives
    std::size_t received_bytes = 0;      // lengths of posted receives, and results of collectives
    std::vector<int> live_handles = {};  // communicators and groups, after each that is made
    std::vector<int> shared_files = {};  // count_shared_files(), before each group
};

// Begins to count. Handles that live already stay in the number of live handles.
void reset_mpi_counts();
// Returns the counts since the last reset.
const MpiCounts& mpi_counts();

// Returns the number of files in /dev/shm that this process has mapped at some time and that still exist, and
// of those without a name that it maps now. Files of other processes are ignored.
int count_shared_files();

}  // namespace trireme::validation
