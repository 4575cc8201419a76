// Reads the files of --profile.
#pragma once

#include <string>
#include <vector>

#include "trireme/config/config.hpp"
#include "trireme/plan/rank_profiles.hpp"

namespace trireme::setup {

// Returns the path of each file, without duplicates. The path of a file without ranks comes first: this file
// serves all ranks that no other file names.
std::vector<std::string> list_profile_paths(const std::vector<config::ProfileFile>& files);

// Returns one profile per path, in the order of list_profile_paths(), and the index of each rank's profile in
// this order. A rank that no file names has index 0. --profile must be set, and
// check_profile_ranks() must have accepted its files. Throws ConfigError if a file cannot be read, is no
// profile, or was measured with another dtype than that of the run. Throws ConfigError, too, if the model or
// micro-batch of a file differs from that of the first file.
plan::RankProfiles read_profiles(const config::RunConfig& config);

}  // namespace trireme::setup
