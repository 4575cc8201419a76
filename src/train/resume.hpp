// Going on with a run from one of its checkpoints.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "train/setup.hpp"
#include "trireme/plan/observation.hpp"

namespace trireme {

// What --resume says, followed to a checkpoint; none: the run begins. Throws ConfigError where there is none,
// and where --resume auto has no --run-dir to look into.
std::optional<std::filesystem::path> checkpoint_to_resume(const RunOptions& run);

// Whether the run directory is the one that the run goes on in: its records up to the checkpoint stay.
bool goes_on_in_place(const RunOptions& run, const std::optional<std::filesystem::path>& checkpoint);

// What the run is, after its checkpoint where there is one, in the plan of its options. Throws ConfigError as
// set_up() does, and where the options are of another run: of another model, corpus, seed, batch or optimizer.
Setup set_up_from(const std::optional<std::filesystem::path>& checkpoint, const RunConfig& config, int ranks);

// What a checkpoint behind the steps that were `observed` says of the run, as a JSON object.
std::string run_facts(const RunConfig& config, const Setup& setup, const Observation& observed);

// Options that are others than those of the checkpoint, and may be: "--lr was 0.001".
std::vector<std::string> changes_since(const RunConfig& config, const Setup& setup);

}  // namespace trireme
