// Going on with a run from one of its checkpoints.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "train/setup.hpp"

namespace trireme {

// What --resume says, followed to a checkpoint; none: the run begins. Throws ConfigError where there is none,
// and where --resume auto has no --run-dir to look into.
std::optional<std::filesystem::path> checkpoint_to_resume(const RunOptions& run);

// Whether the run directory is the one that the run goes on in: its records up to the checkpoint stay.
bool goes_on_in_place(const RunOptions& run, const std::optional<std::filesystem::path>& checkpoint);

// Sets up what the run is after its checkpoint. Throws ConfigError where the options are of
// another run: of another model, corpus, seed, batch or optimizer.
void take_up(const RunConfig& config, Setup& setup);

// What a checkpoint after `step` steps says of the run, as a JSON object.
std::string run_facts(const RunConfig& config, const Setup& setup, std::uint64_t step);

// Options that are others than those of the checkpoint, and may be: "--lr was 0.001".
std::vector<std::string> changes_since(const RunConfig& config, const Setup& setup);

}  // namespace trireme
