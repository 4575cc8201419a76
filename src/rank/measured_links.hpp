// Measures latency and bandwidth between ranks with messages.
#pragma once

#include "trireme/comm/communicator.hpp"
#include "trireme/layout/links.hpp"

namespace trireme::rank {

// Collective over `all`, which has all ranks. `team` is this rank's tensor group; null if it is in none.
layout::RankLinks measured_links(comm::Communicator* team, comm::Communicator& all);

}  // namespace trireme::rank
