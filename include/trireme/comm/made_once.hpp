// What is the same on all ranks, once, where they share one process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "trireme/base/error.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/device/clock.hpp"

namespace trireme {

// Collective over `group`, in a simulation alone: rank 0's, for all to hold. The others give none.
template <class T>
std::shared_ptr<T> shared_by_first(Communicator& group, std::shared_ptr<T> of_first) {
    if (!time_is_simulated()) throw BugError("ranks were to share memory, and each has its own process");
    const bool is_first = group.rank() == 0;
    const auto address = reinterpret_cast<std::uintptr_t>(&of_first);
    const std::string told = gather_all(group, is_first ? std::to_string(address) : "").front();
    std::shared_ptr<T> own = *reinterpret_cast<const std::shared_ptr<T>*>(std::stoull(told));
    barrier(group);  // rank 0's stays where it is until all hold it
    return own;
}

}  // namespace trireme
