// The lines with which the log of a run begins.
#pragma once

#include <string>

#include "trireme/plan/plan.hpp"
#include "trireme/records/run_records.hpp"
#include "trireme/setup/rank_memory.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::records {

// Describes model, data, plan, device and memory of a run, one line each. `origin` explains the plan, and may
// be empty; `memory` is that of the fullest rank.
std::string describe_run(const setup::Job& job, const Manifest& manifest, const plan::Plan& plan,
                         const std::string& origin, const setup::RankMemory& memory);

}  // namespace trireme::records
