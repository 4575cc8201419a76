// What the ranks of a job compute on.
#pragma once

#include "trireme/comm/session.hpp"
#include "trireme/config/config.hpp"

namespace trireme::setup {

// Collective over `control`. --device auto becomes the GPU where every rank has one that will do, and else the
// processor. Where it is the GPU, this rank's is in use from here on: the one of its number among the ranks of
// its node, in turn where they are more than GPUs. Throws ConfigError, on all ranks, where --device cuda finds
// a rank without one.
config::RunConfig with_device_of_ranks(config::RunConfig config, const comm::Session& session,
                                       comm::Communicator& control);

}  // namespace trireme::setup
