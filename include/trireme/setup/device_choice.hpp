// Chooses the devices on which the ranks of a job compute.
#pragma once

#include "trireme/comm/session.hpp"
#include "trireme/config/config.hpp"

namespace trireme::setup {

// Collective over `control`. Returns the options with --device auto replaced by `cuda` if every rank has a
// suitable GPU (compute capability 8.0 or higher), otherwise by `cpu`. In simulated time, `auto` becomes `cpu`.
//
// With `cuda`, the call also makes a GPU of the node the current CUDA device of the calling thread. The ranks
// of a node take the node's GPUs round-robin, in ascending order of ranks. Throws ResourceError if the GPU does
// not start. Throws ConfigError on all ranks if --device cuda is set but a rank has no suitable GPU, or time is
// simulated.
config::RunConfig choose_device(config::RunConfig config, const comm::Session& session,
                                comm::Communicator& control);

}  // namespace trireme::setup
