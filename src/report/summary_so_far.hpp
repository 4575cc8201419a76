// The figures of merit of a run that has no summary.
#pragma once

#include <vector>

#include "report/run_records.hpp"

namespace trireme::report {

// Adds up the steps as the summary would. A figure that some step does not say is left out; there is no
// verdict.
Summary summary_so_far(const std::vector<StepRecord>& steps);

}  // namespace trireme::report
