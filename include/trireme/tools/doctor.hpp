// `trireme doctor`: reports what works on this machine, what does not, and how to install what is missing.
#pragma once

#include <ostream>
#include <string>

#include "trireme/base/error.hpp"
#include "trireme/base/job.hpp"
#include "trireme/comm/session.hpp"

namespace trireme::tools {

struct DoctorConfig {
    std::string scratch = ".";  // folder whose speed is measured
    bool is_json = false;
};

// Facts that the caller provides.
struct DoctorPlace {
    const SlurmJob& job;
    const Start& start;
    std::string search_path = {};  // value of PATH, for finding commands
    const comm::Session& session;
    int threads = 1;  // threads of this rank, as in a run
};

// Collective over all ranks. Every rank examines its machine; rank 0 writes the findings to `out`, as text or
// as one JSON object. All ranks return `done` if everything that training needs works, and `resource`
// otherwise. If MPI has not connected the processes, all but the first print nothing and return `done`. One
// rank per node writes 64 MB to the scratch folder and removes them. Throws ConfigError in a simulation, whose
// machine is described in a file.
ExitCode examine(const DoctorConfig& config, const DoctorPlace& place, std::ostream& out);

}  // namespace trireme::tools
