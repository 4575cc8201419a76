// Reads the files of --profile.
#pragma once

#include <string>
#include <vector>

#include "trireme/config/config.hpp"
#include "trireme/plan/rank_profiles.hpp"

namespace trireme::setup {

// Returns each path once. The file for all ranks that no other file names comes first.
std::vector<std::string> profile_paths(const std::vector<config::ProfileFile>& files);

// Returns one kind per path; there must be at least one. check_profile_ranks() must have accepted the files.
// Throws ConfigError if a file cannot be read, is no profile, or was measured with another dtype than that of
// the run. All files must have the model and micro-batch of the first one.
plan::RankProfiles read_profiles(const config::RunConfig& config);

}  // namespace trireme::setup
