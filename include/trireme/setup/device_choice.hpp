// Chooses the devices on which the ranks of a job compute.
#pragma once

#include "trireme/comm/session.hpp"
#include "trireme/config/config.hpp"

namespace trireme::setup {

// Collective over `control`. Returns the options with --device auto replaced by `cuda` if every rank has a
// suitable GPU, otherwise by `cpu`. With `cuda`, the call also makes a GPU of the node the current CUDA device:
// the ranks of a node take its GPUs round-robin, in ascending order of ranks. Throws ConfigError on all ranks
// if --device cuda is set and a rank has no suitable GPU.
config::RunConfig choose_device(config::RunConfig config, const comm::Session& session,
                                comm::Communicator& control);

}  // namespace trireme::setup
