// The outcomes of a run's checkpoints, for its records.
#pragma once

#include <cstdint>
#include <string>

namespace trireme::records {

// The result of writing a checkpoint. Only rank 0 has this result, because rank 0 completes the checkpoints.
struct SaveOutcome {
    std::uint64_t step = 0;  // number of steps after which the checkpoint was begun
    std::string complaint;   // why the checkpoint was not written; empty if it is on disk
    double seconds = 0;      // from the beginning of the checkpoint until it is on disk
};

// A save that had to wait until the previous checkpoint was written.
struct SaveWait {
    std::uint64_t step = 0;  // number of steps after which the save was due
    double seconds = 0;      // duration of the wait
};

}  // namespace trireme::records
