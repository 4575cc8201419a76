// Records every start of a run in starts.jsonl of its directory.
#pragma once

#include <cstddef>
#include <filesystem>

#include "trireme/base/job.hpp"

namespace trireme::records {

// A Slurm job may start this many times at the same step, that is, without progress. The next start is refused.
constexpr std::size_t max_starts_without_progress = 3;

// Adds a line to `file` for the present start, which begins after `completed_steps` steps. Throws ConfigError
// if Slurm has requeued the job and its last `max_starts_without_progress` starts also began after
// `completed_steps` steps, because the job would restart forever.
void record_start(const std::filesystem::path& file, const SlurmJob& job, std::size_t completed_steps);

}  // namespace trireme::records
