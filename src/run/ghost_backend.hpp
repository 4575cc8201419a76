// Ghost ranks: shapes and costs without arithmetic, in simulated time.
#pragma once

#include <memory>

#include "run/backend.hpp"
#include "trireme/comm/session.hpp"

namespace trireme {

// Collective over all ranks, which share one process. Rank 0 sets the run up for all. Throws ConfigError.
std::unique_ptr<Backend> ghost_backend(const RunConfig& config, const Session& session, Communicator& control,
                                       Patience patience);

}  // namespace trireme
