// `trireme doctor`: reports what works on this machine, what does not, and how to install what is missing.
#pragma once

#include <ostream>
#include <string>

#include "trireme/base/error.hpp"
#include "trireme/base/job.hpp"
#include "trireme/comm/session.hpp"

namespace trireme::tools {

struct DoctorConfig {
    std::string scratch = ".";  // folder in which reading and writing of test files is checked and timed
    bool is_json = false;       // report as JSON instead of text
};

// The facts about this process and its job. The references must be valid during run_doctor().
struct DoctorInputs {
    const SlurmJob& job;
    const ProcessStart& start;
    std::string search_path = {};  // value of PATH, for finding commands
    const comm::Session& session;
    int threads = 1;  // number of threads that this rank would use in a run
};

// Collective over all ranks. Every rank examines its machine, and rank 0 writes the findings to `out`, as text
// or as one JSON object. All ranks return `done` if everything that training needs works, and `resource`
// otherwise. If MPI has not connected the processes, only the first process reports. The other processes print
// nothing and return `done`. One rank per node writes a test file of 64 MB and a small HDF5 file to the scratch
// folder, and removes these files. Throws ConfigError in a simulation, because a simulated machine cannot be
// examined.
ExitCode run_doctor(const DoctorConfig& config, const DoctorInputs& inputs, std::ostream& out);

}  // namespace trireme::tools
