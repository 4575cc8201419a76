// Support for simulated ranks: messages that take simulated
// time but carry no values, and objects that all ranks share.
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

// Wraps `group` for ghost tensors: messages are sent from `memory` and received into it. A message that is
// longer than `memory` throws ConfigError.
std::unique_ptr<Communicator> without_values(std::unique_ptr<Communicator> group,
                                             std::shared_ptr<const BlankMemory> memory);

// Does the same for a group whose ranks all exchange messages of equal length. All messages of a rank are
// replaced by one long message to the next rank, as in a ring. It keeps the network adapter busy for the same
// time, and costs the simulator less work.
std::unique_ptr<Communicator> around_ring_without_values(std::unique_ptr<Communicator> group,
                                                         std::shared_ptr<const BlankMemory> memory);

// Collective over `group`; for simulations only. Returns rank
// 0's object on all ranks; `of_first` of the others is ignored.
template <class T>
std::shared_ptr<T> shared_by_first(Communicator& group, std::shared_ptr<T> of_first) {
    if (!device::time_is_simulated())
        throw BugError("ranks were to share memory, and each has its own process");
    const bool is_first = group.rank() == 0;
    const auto address = reinterpret_cast<std::uintptr_t>(&of_first);
    const std::string told = gather_all(group, is_first ? std::to_string(address) : "").front();
    std::shared_ptr<T> own = *reinterpret_cast<const std::shared_ptr<T>*>(std::stoull(told));
    barrier(group);  // keeps rank 0's pointer alive until all ranks have copied it
    return own;
}

}  // namespace trireme::comm
