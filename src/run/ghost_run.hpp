// A run of ghost ranks: shapes and costs without arithmetic, in simulated time.
#pragma once

#include "trireme/comm/session.hpp"
#include "trireme/config/config.hpp"
#include "trireme/run/train.hpp"

namespace trireme {

// Collective over all ranks. Executes the steps and writes config.ini, manifest.json, steps.jsonl and
// summary.json, without losses. The ranks share what is equal on all of them. Nothing stops the run early,
// because only simulated time passes.
Ending run_ghosts(const RunConfig& config, const Session& session, Communicator& control, Patience patience);

}  // namespace trireme
