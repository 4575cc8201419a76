// The one place that reads environment variables.
#pragma once

#include "trireme/base/job.hpp"

namespace trireme::app {

Job read_job();

}  // namespace trireme::app
