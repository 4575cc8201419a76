// The step loop.
#pragma once

#include "trireme/comm/session.hpp"
#include "trireme/config/config.hpp"
#include "trireme/device/stop_signals.hpp"

namespace trireme {

enum class Ending { done, stopped };  // stopped: before its last step, with a checkpoint to go on from

// Collective over all ranks. Trains as told, writes the run directory from rank 0, prints progress to standard
// output from rank 0, and ends with the figures of merit. Throws ConfigError before anything is written if the
// configuration, the corpus or the run directory cannot be used; all ranks throw together. Ends behind the step
// in which a signal came to any rank, or before the time of the run or its job is over; `signals`, where there
// are any, have been this rank's since before the session.
Ending train(const RunConfig& config, Session& session, StopSignals* signals = nullptr);

}  // namespace trireme
