// Runs of shapes and costs alone, in simulated time.
#pragma once

#include "trireme/comm/session.hpp"
#include "trireme/train/config.hpp"
#include "trireme/train/train.hpp"

namespace trireme {

bool is_of_ghosts(const RunConfig& config);

// Throws ConfigError where ghosts are asked for what only values can give, or outside of simulated time, and
// where numbers are that only ghosts have.
void check_ghosts(const RunConfig& config);
// Of what computes by itself: `what` is "an evaluation".
void refuse_ghosts(const RunConfig& config, const std::string& what);

// Collective over all ranks. The steps of a run, and what it leaves behind: config.ini, manifest.json,
// steps.jsonl and summary.json, without losses. Ranks share what is the same for all; nobody stops them
// early, as no time passes but the simulated.
Ending run_ghosts(const RunConfig& config, const Session& session, Communicator& control, Patience patience);

}  // namespace trireme
