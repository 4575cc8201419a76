// Ranks that compute.
#pragma once

#include <memory>

#include "run/backend.hpp"
#include "run/continuation.hpp"
#include "trireme/comm/session.hpp"
#include "trireme/rank/watchdog.hpp"

namespace trireme {

// What a rank lives in while it trains. All of it outlives the backend.
struct RankSurroundings {
    const Session& session;
    Communicator& control;
    Watchdog& watchdog;
    Stopping& stopping;
    Continuation& continuation;
};

// Collective over all ranks. Sets the run up, after the checkpoint that --resume names if there is one. Throws
// ConfigError.
std::unique_ptr<Backend> real_backend(const RunConfig& config, const RankSurroundings& surroundings,
                                      StopSignals* signals);

}  // namespace trireme
