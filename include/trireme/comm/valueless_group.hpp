// Simulated ranks: messages that take their time and carry no values, and objects that all ranks share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "trireme/base/error.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/comm/communicator.hpp"
#include "trireme/comm/node_memory.hpp"
#include "trireme/device/clock.hpp"

namespace trireme::comm {

// `group`, for tensors of which only the shapes are known: their messages come from `memory` and go there. A
// message longer than that is a ConfigError.
std::unique_ptr<Communicator> without_values(std::unique_ptr<Communicator> group,
                                             std::shared_ptr<const BlankMemory> memory);

// Likewise, of a group whose ranks send each other alike parts: what a rank sends to all goes to its next one
// in one message, as around a ring, which takes its adapter as long and the simulator a part of the work.
std::unique_ptr<Communicator> around_ring_without_values(std::unique_ptr<Communicator> group,
                                                         std::shared_ptr<const BlankMemory> memory);

// Collective over `group`, in a simulation alone: rank 0's, for all to hold. The others give none.
template <class T>
std::shared_ptr<T> shared_by_first(Communicator& group, std::shared_ptr<T> of_first) {
    if (!device::time_is_simulated())
        throw BugError("ranks were to share memory, and each has its own process");
    const bool is_first = group.rank() == 0;
    const auto address = reinterpret_cast<std::uintptr_t>(&of_first);
    const std::string told = gather_all(group, is_first ? std::to_string(address) : "").front();
    std::shared_ptr<T> own = *reinterpret_cast<const std::shared_ptr<T>*>(std::stoull(told));
    barrier(group);  // rank 0's stays where it is until all hold it
    return own;
}

}  // namespace trireme::comm
