// The step loop.
#pragma once

#include "trireme/comm/session.hpp"
#include "trireme/train/config.hpp"

namespace trireme {

// Collective over all ranks. Trains as told, writes the run directory from rank 0, prints progress to standard
// output from rank 0, and ends with the figures of merit. Throws ConfigError before anything is written if the
// configuration, the corpus or the run directory cannot be used; all ranks throw together.
void train(const RunConfig& config, Session& session);

}  // namespace trireme
