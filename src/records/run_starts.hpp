// Records every start of a run in starts.jsonl of its directory.
#pragma once

#include <cstddef>
#include <filesystem>

#include "trireme/base/job.hpp"

namespace trireme::records {

// Maximum number of starts of a Slurm job at the same step, without progress, before another start is refused.
constexpr std::size_t most_starts_without_progress = 3;

// Adds a line for the present start, which begins after `first_step` steps. Throws ConfigError if Slurm has
// requeued the job and its last starts all began at the same step: it would restart forever.
void note_start(const std::filesystem::path& file, const SlurmJob& job, std::size_t first_step);

}  // namespace trireme::records
