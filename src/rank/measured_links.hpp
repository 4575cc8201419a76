// Measures latency and bandwidth between ranks by sending tensors in host memory.
#pragma once

#include "trireme/comm/communicator.hpp"
#include "trireme/layout/links.hpp"

namespace trireme::rank {

// Collective over `all`, which has all ranks. RankLinks::team of the result follows from the longest times
// between the first two ranks of any team. RankLinks::all is the slower of two links of rank 0: to rank 1 and
// to the last rank. A link that does not exist has default values. `team` is this rank's tensor group; null if
// this rank is idle or alone in its team.
layout::RankLinks measure_rank_links(comm::Communicator* team, comm::Communicator& all);

}  // namespace trireme::rank
