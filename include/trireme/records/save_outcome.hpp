// What a run reports of its checkpoints.
#pragma once

#include <cstdint>
#include <string>

namespace trireme::records {

// The end of a checkpoint. Only rank 0 has it.
struct SaveOutcome {
    std::uint64_t step = 0;
    std::string complaint;  // why it was not written; empty: it is on disk
    double seconds = 0;     // from its beginning to its end
};

// A save that could not begin because the one before was still being written.
struct SaveWait {
    std::uint64_t step = 0;
    double seconds = 0;
};

}  // namespace trireme::records
