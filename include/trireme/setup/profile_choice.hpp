// Assigns the files of --profile to ranks.
#pragma once

#include <string>
#include <vector>

#include "trireme/comm/session.hpp"
#include "trireme/config/config.hpp"

namespace trireme::setup {

// Throws ConfigError if any of the files cannot be read or is no profile.
void check_profile_files(const std::vector<config::ProfileFile>& files);

// Throws ConfigError if files name ranks beyond `ranks` or a rank twice, or if only some ranks have a file.
// Also throws if several files name no ranks: only device names could tell which of them a rank needs.
void check_profile_ranks(const std::vector<config::ProfileFile>& files, int ranks);

// Returns the files with the ranks that use them. Ranks that no file names get the file that was measured on
// their device; `devices` has the device name per rank. Throws ConfigError if a file names a rank that does not
// exist or that another file names, if a file cannot be read, if two files without ranks were measured on
// devices of the same name, or if a device has no file.
std::vector<config::ProfileFile> assign_files_to_devices(const std::vector<config::ProfileFile>& files,
                                                         const std::vector<std::string>& devices);

// Collective over `control`, a group of all ranks. If several files of --profile name no ranks, returns the
// options with the ranks of each file set; otherwise returns the options unchanged. Rank 0 assigns the files
// and broadcasts the result. The device names are those of --cluster if set, otherwise the processor or GPU
// names of all ranks. Throws the errors of assign_files_to_devices() on all ranks.
config::RunConfig assign_profiles_to_ranks(config::RunConfig config, const comm::Session& session,
                                           comm::Communicator& control);

}  // namespace trireme::setup
