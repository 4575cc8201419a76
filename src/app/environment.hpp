// The one place that reads and sets environment variables.
#pragma once

#include <string>

#include "trireme/base/job.hpp"

namespace trireme::app {

Job read_job();
Start read_start();         // before MPI starts
std::string search_path();  // where commands are looked for

// Of GPUs, before anything of theirs begins: a kernel that is loaded at its first use may wait for all that its
// GPU does, and that for another rank.
void have_kernels_loaded_at_start();

}  // namespace trireme::app
