// The file with the resizing state of one rank: resizing-<save id>-<rank>.h5. Resizing means that a slow tensor
// rank skips input channels of matmuls. If the ranks of a run may skip channels, each checkpoint of the run has
// one such file per rank. A run that resumes with another plan does not use these files.
#pragma once

#include <filesystem>
#include <string>

#include "trireme/archive/positioned_file.hpp"
#include "trireme/checkpoint/checkpoint_state.hpp"
#include "trireme/model/resizing.hpp"

namespace trireme::checkpoint {

// Writes the file into `folder` but does not sync the file: the caller must call sync() of the result, on any
// thread. Throws ResourceError if the operating system reports an error such as a full disk, and ConfigError if
// files cannot be written in `folder`.
archive::WritableFile write_resizing(const std::filesystem::path& folder, const std::string& save_id, int rank,
                                     const model::ResizingState& state);

// Reads the file of `rank` into `state`, whose vectors and tensors must already have the stored lengths. Throws
// ConfigError, whose message names the file, if the file is missing, damaged, or of another rank, save or plan.
void read_resizing(const std::filesystem::path& folder, const std::string& save_id, int rank,
                   model::ResizingState& state);

}  // namespace trireme::checkpoint
