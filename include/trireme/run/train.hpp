// The entry points of `trireme train` and `trireme evaluate`.
#pragma once

#include <optional>

#include "trireme/comm/session.hpp"
#include "trireme/config/config.hpp"
#include "trireme/device/stop_signals.hpp"

namespace trireme::run {

// The end of a run. A stopped run ended before its last step, with a checkpoint from which it can be resumed.
enum class Ending { done, stopped };

// Collective over all ranks. Trains; rank 0 writes the run directory and prints progress and the figures of
// merit. Throws ConfigError on all ranks together, before anything is written, if the configuration, the corpus
// or the run directory cannot be used. Stops soon after any rank receives a signal, or before --time-limit or
// the end of the Slurm job. `signals` may be null; otherwise it must have been constructed before the session
// was made.
Ending train(const config::RunConfig& config, comm::Session& session, device::StopSignals* signals = nullptr);

// Collective over all ranks. Evaluates a stored model on a corpus. Rank 0 prints the loss and, depending on the
// task, the perplexity, the accuracy, or exact match and F1. If --output is set, it also writes them as JSON.
// Throws ConfigError on all ranks together if model or corpus cannot be used.
void evaluate(const config::EvaluateConfig& config, comm::Session& session);

// Returns the options that are stored in the checkpoint that --resume names. Empty if the run does not resume,
// or if an older version wrote the checkpoint without options. Throws ConfigError if there is no such
// checkpoint.
std::optional<config::SavedOptions> read_saved_options(const config::RunOptions& run);

}  // namespace trireme::run
