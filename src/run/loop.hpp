// The step loop.
#pragma once

#include "run/backend.hpp"
#include "trireme/comm/session.hpp"
#include "trireme/run/train.hpp"

namespace trireme {

// Collective over all ranks. Trains from the first step to the last one, or until something stops the run.
Ending run_steps(Backend& backend, const Session& session, Communicator& control);

}  // namespace trireme
