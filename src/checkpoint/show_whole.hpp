// model.h5: every tensor of a checkpoint whole, and every moment.
#pragma once

#include <filesystem>

#include "trireme/checkpoint/checkpoint_state.hpp"

namespace trireme {

// Beside the parts, which need not be there yet; not synced. Throws ResourceError.
void show_whole(const std::filesystem::path& path, const CheckpointState& state);

}  // namespace trireme
