// Measures latency and bandwidth between ranks with messages.
#pragma once

#include "trireme/comm/communicator.hpp"
#include "trireme/layout/links.hpp"

namespace trireme::rank {

// Collective over `all`, which has all ranks. Returns the slowest link within teams, and the slower one of the
// links from rank 0 to rank 1 and to the last rank. `team` is this rank's tensor group; null if it has none.
layout::RankLinks measure_rank_links(comm::Communicator* team, comm::Communicator& all);

}  // namespace trireme::rank
