// What --profile names, read.
#pragma once

#include <string>
#include <vector>

#include "trireme/config/config.hpp"
#include "trireme/plan/rank_profiles.hpp"

namespace trireme::setup {

// Each file once; first the one that is for all ranks that no other names.
std::vector<std::string> profile_paths(const std::vector<config::ProfileFile>& files);

// A kind for each of these paths. check_profile_ranks() has seen whose the files are, and there is one at
// least. Throws ConfigError for one that cannot be read or is no profile, that was measured with other numbers
// than the run computes with, or with another model or micro-batch than the first.
plan::RankProfiles read_profiles(const config::RunConfig& config);

}  // namespace trireme::setup
