// Whose each file of --profile is.
#pragma once

#include <string>
#include <vector>

#include "trireme/comm/session.hpp"
#include "trireme/config/config.hpp"

namespace trireme::setup {

// Throws ConfigError for a file that cannot be read or is no profile, even if nothing will use it.
void check_profile_files(const std::vector<config::ProfileFile>& files);

// Throws ConfigError where files name ranks beyond `ranks`, or a rank twice, or leave one out that no other
// file is for; and where only the names of devices could tell.
void check_profile_ranks(const std::vector<config::ProfileFile>& files, int ranks);

// The files with the ranks that they are for, by the names of all ranks' devices. Throws ConfigError for ranks
// as above, for files that cannot be read, for two that were measured on devices of one name, and where a
// rank's device has none.
std::vector<config::ProfileFile> files_for_devices(const std::vector<config::ProfileFile>& files,
                                                   const std::vector<std::string>& devices);

// Collective over `control`, a group of all ranks. The configuration with ranks in --profile: rank 0 goes by
// what all ranks' processors are called, or the devices of the cluster where time is simulated, and tells.
config::RunConfig with_profiles_of_ranks(config::RunConfig config, const comm::Session& session,
                                         comm::Communicator& control);

}  // namespace trireme::setup
