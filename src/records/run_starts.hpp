// Every start of a run, in its directory: starts.jsonl.
#pragma once

#include <cstddef>
#include <filesystem>

#include "trireme/base/job.hpp"

namespace trireme::records {

// So often may Slurm start a job again that does not get beyond the step where it began.
constexpr std::size_t most_starts_without_progress = 3;

// Adds a line for the start that is being made, behind `first_step` steps. Throws ConfigError where Slurm has
// put the job back into its queue, and it began there in each of its last starts, too: so it would go on for
// ever.
void note_start(const std::filesystem::path& file, const SlurmJob& job, std::size_t first_step);

}  // namespace trireme::records
