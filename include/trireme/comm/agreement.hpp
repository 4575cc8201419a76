// How ranks give up together.
#pragma once

#include <functional>

#include "trireme/comm/communicator.hpp"

namespace trireme {

// Collective over `group`. Runs `prepare` on every rank. If it throws a ConfigError on any, every rank throws
// the one of the lowest such rank: a job that cannot start ends everywhere with the same sentence.
void agree(Communicator& group, const std::function<void()>& prepare);

}  // namespace trireme
