// The outcomes of a run's checkpoints, for its records.
#pragma once

#include <cstdint>
#include <string>

namespace trireme::records {

// The result of a checkpoint. Only rank 0 has it.
struct SaveOutcome {
    std::uint64_t step = 0;
    std::string complaint;  // why it was not written; empty if it is on disk
    double seconds = 0;     // from its start to its end
};

// A save that had to wait until the previous checkpoint was written.
struct SaveWait {
    std::uint64_t step = 0;
    double seconds = 0;
};

}  // namespace trireme::records
