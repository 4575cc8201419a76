// `trireme doctor`: what works on this machine, what does not, and how to get it.
#pragma once

#include <ostream>
#include <string>

#include "trireme/base/error.hpp"
#include "trireme/base/job.hpp"
#include "trireme/comm/session.hpp"

namespace trireme::tools {

struct DoctorConfig {
    std::string scratch = ".";  // the folder whose speed is measured
    bool is_json = false;
};

// What the caller knows.
struct DoctorPlace {
    const SlurmJob& job;
    const Start& start;
    std::string search_path = {};  // where commands are looked for
    const comm::Session& session;
    int threads = 1;  // of this rank, as a run would have them
};

// Collective over all ranks. Every rank looks at its machine, rank 0 writes what they found to `out`, in words
// or as one JSON object. All ranks return the same: done where everything that training needs works, and
// otherwise resource; but of ranks that MPI has not brought together, all but the first say nothing. Writes 64
// MB into the scratch folder, by one rank of each node, and removes them. Throws ConfigError in a simulation,
// whose machine is a file.
ExitCode examine(const DoctorConfig& config, const DoctorPlace& place, std::ostream& out);

}  // namespace trireme::tools
