// Latency and bandwidth between ranks, measured by messages.
#pragma once

#include "trireme/comm/communicator.hpp"
#include "trireme/layout/links.hpp"

namespace trireme {

// Collective over all ranks. `team` is this rank's tensor-parallel group; null if it is in none.
RankLinks measured_links(Communicator* team, Communicator& all);

}  // namespace trireme
