// Going on with a run from one of its checkpoints.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "trireme/plan/observation.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::run {

// What --resume says, followed to a checkpoint; none: the run begins. Throws ConfigError where there is none,
// and where --resume auto has no --run-dir to look into.
std::optional<std::filesystem::path> checkpoint_to_resume(const config::RunOptions& run);

// Sets the run up in the plan of its options, after the checkpoint that --resume names if there is one. Throws
// ConfigError as set_up() does, and if the options are those of another run: another model, corpus, seed, batch
// or optimizer.
setup::Setup set_up_from_checkpoint(const config::RunConfig& config, int ranks);

// The state of a run that is not in its tensors.
struct RunProgress {
    plan::Observation observed;
    const setup::PlanOrigin& origin;
    setup::EarlierSteps steps;
};

// Describes the run for a checkpoint, as a JSON object.
std::string run_facts(const setup::Job& job, const setup::PlanState& current, const RunProgress& progress);

}  // namespace trireme::run
