// A bucket as one of its holders sees it.
#pragma once

#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/optim/optimizer.hpp"
#include "trireme/stage/gradient_exchange.hpp"

namespace trireme {

// What one holder adds up, as this rank has it in its own memory. Row after row, shard after shard: the order
// in which these elements travel.
struct Portion {
    std::vector<ParameterShard> shards;
    std::size_t elements = 0;
};

struct HeldBucket {
    std::size_t number = 0;               // in the plan
    Communicator* group = nullptr;        // of the holders; absent where this rank is the only one
    std::vector<Portion> portions;        // of each holder, in the order of the group
    std::size_t self = 0;                 // this rank's place among them
    std::vector<std::size_t> parameters;  // of this rank, that the bucket holds something of; ascending

    const Portion& own() const { return portions[self]; }
};

// The buckets that `rank` holds, in the order of the plan. Throws BugError where plan, specs and groups do not
// fit together.
std::vector<HeldBucket> held_buckets(const GradientPlan& plan, int rank,
                                     const std::vector<ParameterSpec>& specs, const DataGroups& groups);

}  // namespace trireme
