// The one place that reads environment variables.
#pragma once

#include <string>

#include "trireme/base/job.hpp"
#include "trireme/base/start.hpp"

namespace trireme::app {

Job read_job();
Start read_start();         // before MPI starts
std::string search_path();  // where commands are looked for

}  // namespace trireme::app
