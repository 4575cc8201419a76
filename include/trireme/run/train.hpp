// The entry points of `trireme train` and `trireme evaluate`.
#pragma once

#include <optional>

#include "trireme/comm/session.hpp"
#include "trireme/config/config.hpp"
#include "trireme/device/stop_signals.hpp"

namespace trireme::run {

// The result of train(): all steps are done, or the run ended earlier with a checkpoint from which it can
// resume.
enum class Ending { done, stopped };

// Collective over all ranks. Trains a model. Rank 0 writes the run directory, and prints progress and the
// figures of merit. With --dry-run, rank 0 only prints the plan. Throws ConfigError on all ranks together,
// before anything is written, if the configuration, the corpus or the run directory cannot be used. During
// training, throws ConfigError if --on-nan ends the run. Stops soon after any rank receives a signal, or before
// --time-limit or the end of the Slurm job. `signals` may be null. Otherwise `signals` must have been
// constructed before `session`.
Ending train(const config::RunConfig& config, comm::Session& session, device::StopSignals* signals = nullptr);

// Collective over all ranks. Evaluates a stored model on a corpus. Rank 0 prints the loss and, depending on the
// task, the perplexity, the accuracy, or exact match and F1. If --output is set, rank 0 also writes these
// figures as JSON. Throws ConfigError on all ranks together if the model or the corpus cannot be used.
void evaluate(const config::EvaluateConfig& config, comm::Session& session);

// Returns the options that are stored in the checkpoint that --resume selects. Returns nothing if the run does
// not resume, or if an older version wrote the checkpoint without options. Throws ConfigError if --resume names
// a checkpoint that does not exist, or if --resume auto lacks --run-dir.
std::optional<config::SavedOptions> read_saved_options(const config::RunOptions& run);

}  // namespace trireme::run
