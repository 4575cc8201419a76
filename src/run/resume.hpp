// Resumes a run from one of its checkpoints.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "trireme/plan/observation.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::run {

// Returns the folder of the checkpoint that --resume selects; empty if the run does not resume. Throws
// ConfigError if a named checkpoint does not exist, or if --resume auto lacks --run-dir.
std::optional<std::filesystem::path> find_checkpoint_to_resume(const config::RunOptions& run);

// Sets up the run with the plan that its options determine. If --resume selects a checkpoint, the parameters
// and the progress come from that checkpoint. Throws ConfigError where set_up() does, and if no step remains.
// The checkpoint must come from a run with the same model, corpus, optimizer and precision, and with equal
// values of the options that select samples; otherwise the function throws ConfigError.
setup::Setup set_up_from_checkpoint(const config::RunConfig& config, int ranks);

// The state of a run besides its tensors.
struct RunProgress {
    plan::Observation observed;       // number of completed steps, and averages of their times
    const setup::PlanOrigin& origin;  // why the run has its current plan
    setup::EarlierSteps steps;  // summary of all steps up to the checkpoint, including those before a resume
    std::string freezing = {};  // state of the rule of --freeze, as JSON; empty without it
};

// Returns the facts about the run that a checkpoint stores, as a JSON object.
std::string make_run_facts(const setup::Job& job, const setup::PlanState& current, const RunProgress& progress);

}  // namespace trireme::run
