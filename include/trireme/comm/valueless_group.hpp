// Support for simulated ranks: messages that take simulated time but carry no values, and objects that all
// ranks share.
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

// Wraps `group` for ghost tensors, which have a shape but no memory. All messages are sent from `memory` and
// received into `memory`. Starting a message that is longer than `memory` throws ConfigError.
std::unique_ptr<Communicator> make_valueless_group(std::unique_ptr<Communicator> group,
                                                   std::shared_ptr<const BlankMemory> memory);

// Wraps `group` as make_valueless_group() does. Every rank of `group` must send messages of equal length to all
// other ranks. One message to the next rank of a ring replaces these messages, and has their total length. The
// one message keeps the network adapter busy for the same time, and is less work for the simulator.
std::unique_ptr<Communicator> make_valueless_ring_group(std::unique_ptr<Communicator> group,
                                                        std::shared_ptr<const BlankMemory> memory);

// Collective over `group`. Works only in a simulation, where all ranks share one process. Returns the
// `own_object` of rank 0 on all ranks; ignores the `own_object` of the other ranks.
template <class T>
std::shared_ptr<T> share_from_rank_zero(Communicator& group, std::shared_ptr<T> own_object) {
    if (!device::time_is_simulated())
        throw BugError("only simulated ranks can share an object; these ranks are separate processes");
    const bool is_first = group.rank() == 0;
    const auto address = reinterpret_cast<std::uintptr_t>(&own_object);
    const std::string text = all_gather(group, is_first ? std::to_string(address) : "").front();
    std::shared_ptr<T> shared_object = *reinterpret_cast<const std::shared_ptr<T>*>(std::stoull(text));
    barrier(group);  // keeps rank 0's pointer alive until all ranks have copied it
    return shared_object;
}

}  // namespace trireme::comm
