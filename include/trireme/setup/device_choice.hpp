// Chooses the devices on which the ranks of a job compute.
#pragma once

#include "trireme/comm/session.hpp"
#include "trireme/config/config.hpp"

namespace trireme::setup {

// Collective over `control`. Replaces --device auto by the GPU if every rank has a suitable one, otherwise by
// the CPU. If it is the GPU, this rank's GPU is selected: ranks of a node take the GPUs round-robin in the
// order of their numbers. Throws ConfigError on all ranks if --device cuda is set and a rank has no suitable
// GPU.
config::RunConfig with_device_of_ranks(config::RunConfig config, const comm::Session& session,
                                       comm::Communicator& control);

}  // namespace trireme::setup
