// Assigns the files of --profile to ranks.
#pragma once

#include <string>
#include <vector>

#include "trireme/comm/session.hpp"
#include "trireme/config/config.hpp"

namespace trireme::setup {

// Throws ConfigError if a file cannot be read or is no profile, even if it is not used.
void check_profile_files(const std::vector<config::ProfileFile>& files);

// Throws ConfigError if files name ranks beyond `ranks` or a rank twice, or if a rank has no file. Also throws
// if several files have no ranks: then device names would be needed to choose.
void check_profile_ranks(const std::vector<config::ProfileFile>& files, int ranks);

// Returns the files with their ranks, chosen by the device names of all ranks. Throws ConfigError for wrong
// ranks as above, for unreadable files, for two files measured on devices of the same name, and for a device
// without a file.
std::vector<config::ProfileFile> files_for_devices(const std::vector<config::ProfileFile>& files,
                                                   const std::vector<std::string>& devices);

// Collective over `control`, a group of all ranks. Adds ranks to the files of --profile. Rank 0 assigns the
// files and broadcasts the result. It goes by the devices of the cluster if there is one, otherwise by the
// processor or GPU names of all ranks.
config::RunConfig with_profiles_of_ranks(config::RunConfig config, const comm::Session& session,
                                         comm::Communicator& control);

}  // namespace trireme::setup
