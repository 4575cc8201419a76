// A rank's file of a checkpoint whose run may leave out products: resizing-<save>-<rank>.h5. No tensor of the
// model is in it: only a run that goes on in the very same plan has a use for it.
#pragma once

#include <filesystem>
#include <string>

#include "trireme/archive/positioned_file.hpp"
#include "trireme/checkpoint/checkpoint_state.hpp"
#include "trireme/model/resizing.hpp"

namespace trireme::checkpoint {

// All of the file, in `folder`, but for what the system has not brought to the disk yet: any thread may sync
// what is returned. Throws ResourceError where the machine refuses, ConfigError where nothing can be written
// there.
archive::WritableFile write_resizing(const std::filesystem::path& folder, const std::string& save, int rank,
                                     const model::ResizingState& state);

// Reads what such a rank has had into `state`, whose vectors and tensors are as long as its were. Throws
// ConfigError, which names the file, where it is not there, is damaged, or is of another rank or save.
void read_resizing(const std::filesystem::path& folder, const std::string& save, int rank,
                   model::ResizingState& state);

}  // namespace trireme::checkpoint
