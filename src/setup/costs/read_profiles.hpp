// Reads the files of --profile.
#pragma once

#include <string>
#include <vector>

#include "trireme/config/config.hpp"
#include "trireme/plan/rank_profiles.hpp"

namespace trireme::setup {

// Returns each path once. A file without ranks, which serves all ranks that no other file names, comes first.
std::vector<std::string> list_profile_paths(const std::vector<config::ProfileFile>& files);

// Returns one profile per path; there must be at least one. check_profile_ranks() must have accepted the files.
// Throws ConfigError if a file cannot be read, is no profile, was measured with another dtype than that of the
// run, or with another model or micro-batch than the first file.
plan::RankProfiles read_profiles(const config::RunConfig& config);

}  // namespace trireme::setup
