// Assigns the files of --profile to ranks.
#pragma once

#include <string>
#include <vector>

#include "trireme/comm/session.hpp"
#include "trireme/config/config.hpp"

namespace trireme::setup {

// Throws ConfigError if a file cannot be read or is no profile.
void check_profile_files(const std::vector<config::ProfileFile>& files);

// Throws ConfigError if a file names a rank that is not below `ranks`, if two files name the same rank, or if
// some ranks have a file and others have none. Also throws if several files name no ranks: only device names
// could decide which of these files a rank uses, and this function has no device names.
void check_profile_ranks(const std::vector<config::ProfileFile>& files, int ranks);

// Returns the files with the ranks that use them: one entry per interval of consecutive ranks with the same
// file, in the order of ranks. A rank that no file names gets the file that was measured on its device.
// `devices` has one entry per rank: the name of its device. Throws ConfigError if a file names a rank that does
// not exist or that another file names, or if a rank gets no file. Throws ConfigError, too, if a file without
// ranks cannot be read, or if two files without ranks were measured on devices of the same name.
std::vector<config::ProfileFile> assign_files_to_devices(const std::vector<config::ProfileFile>& files,
                                                         const std::vector<std::string>& devices);

// Collective over `control`, a group of all ranks. If several files of --profile name no ranks, returns
// `config` with the ranks that use each file; otherwise returns `config` unchanged. Rank 0 assigns the files,
// and all ranks get its result. The device names come from --cluster if set. Otherwise each rank's device name
// is the name of its processor or GPU. Throws the errors of rank 0 on all ranks: see assign_files_to_devices()
// and read_simulated_devices().
config::RunConfig assign_profiles_to_ranks(config::RunConfig config, const comm::Session& session,
                                           comm::Communicator& control);

}  // namespace trireme::setup
