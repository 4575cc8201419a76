// Latency and bandwidth between ranks, measured by messages.
#pragma once

#include "trireme/comm/communicator.hpp"
#include "trireme/layout/links.hpp"

namespace trireme::rank {

// Collective over all ranks. `team` is this rank's tensor-parallel group; null if it is in none.
layout::RankLinks measured_links(comm::Communicator* team, comm::Communicator& all);

}  // namespace trireme::rank
