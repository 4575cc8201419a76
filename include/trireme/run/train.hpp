// The entry points of `trireme train` and `trireme evaluate`.
#pragma once

#include <optional>

#include "trireme/comm/session.hpp"
#include "trireme/config/config.hpp"
#include "trireme/device/stop_signals.hpp"

namespace trireme::run {

enum class Ending { done, stopped };  // stopped: before its last step, with a checkpoint to resume from

// Collective over all ranks. Trains, writes the run directory and prints progress on rank 0, and ends with the
// figures of merit. Throws ConfigError on all ranks together, before anything is written, if the configuration,
// the corpus or the run directory cannot be used. Ends after the step in which a signal reaches any rank, or
// before the time of the run or of its job is over. `signals` may be null; otherwise they were installed before
// the session.
Ending train(const config::RunConfig& config, comm::Session& session, device::StopSignals* signals = nullptr);

// Collective over all ranks. Evaluates a stored model on a corpus. Rank 0 prints loss and perplexity, accuracy,
// or exact match and F1, and writes them as JSON if asked to. Throws ConfigError on all ranks together if model
// or corpus cannot be used.
void evaluate(const config::EvaluateConfig& config, comm::Session& session);

// The options in the checkpoint that --resume names. There are none if the run begins, or if the checkpoint is
// of a version that keeps none. Throws ConfigError where there is no such checkpoint.
std::optional<config::SavedOptions> saved_options(const config::RunOptions& run);

}  // namespace trireme::run
