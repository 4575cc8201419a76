// One rank's file of a checkpoint whose run may skip channels of matmuls: resizing-<save>-<rank>.h5. It holds
// no tensor of the model. Only a run that resumes with the very same plan uses it.
#pragma once

#include <filesystem>
#include <string>

#include "trireme/archive/positioned_file.hpp"
#include "trireme/checkpoint/checkpoint_state.hpp"
#include "trireme/model/resizing.hpp"

namespace trireme::checkpoint {

// Writes the file into `folder`. Some of it may not be on disk yet: the caller syncs the returned file, from
// any thread. Throws ResourceError if the machine refuses, ConfigError if nothing can be written there.
archive::WritableFile write_resizing(const std::filesystem::path& folder, const std::string& save, int rank,
                                     const model::ResizingState& state);

// Reads the file of `rank` into `state`, whose vectors and tensors must have the stored lengths. Throws
// ConfigError, which names the file, if it is missing, damaged, or of another rank or save.
void read_resizing(const std::filesystem::path& folder, const std::string& save, int rank,
                   model::ResizingState& state);

}  // namespace trireme::checkpoint
