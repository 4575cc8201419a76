// Messages of a simulation that take their time and carry no values.
#pragma once

#include <memory>

#include "trireme/comm/blank_memory.hpp"
#include "trireme/comm/communicator.hpp"

namespace trireme {

// `group`, for tensors of which only the shapes are known: their messages come from `memory` and go there. A
// message longer than that is a ConfigError.
std::unique_ptr<Communicator> without_values(std::unique_ptr<Communicator> group,
                                             std::shared_ptr<const BlankMemory> memory);

// Likewise, of a group whose ranks send each other alike parts: what a rank sends to all goes to its next one in
// one message, as around a ring, which takes its adapter as long and the simulator a part of the work.
std::unique_ptr<Communicator> around_ring_without_values(std::unique_ptr<Communicator> group,
                                                         std::shared_ptr<const BlankMemory> memory);

}  // namespace trireme
