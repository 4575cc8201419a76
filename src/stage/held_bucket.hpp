// A bucket as one of its holders sees it.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/optim/optimizer.hpp"
#include "trireme/stage/gradient_exchange.hpp"

namespace trireme::stage {

// What one holder adds up, as this rank has it in its own memory. Row after row, shard after shard: the order
// in which these elements travel.
struct Portion {
    std::vector<optim::ParameterShard> shards;
    std::size_t elements = 0;
};

struct HeldBucket {
    std::size_t number = 0;               // in the plan
    comm::Communicator* group = nullptr;  // of the holders; absent where this rank is the only one
    std::vector<Portion> portions;        // of each holder, in the order of the group
    std::size_t self = 0;                 // this rank's place among them
    std::vector<std::size_t> parameters;  // of this rank, that the bucket holds something of; ascending

    const Portion& own() const { return portions[self]; }
};

// The buckets that `rank` holds, in the order of the plan. Throws BugError where plan, specs and groups do not
// fit together.
std::vector<HeldBucket> held_buckets(const GradientPlan& plan, int rank,
                                     const std::vector<model::ParameterSpec>& specs, const DataGroups& groups);

// The shards of the buckets that a rank holds, as they lie in its memory.
class HeldShards {
public:
    // All are kept by reference.
    HeldShards(const GradientPlan& plan, int rank, const std::vector<model::ParameterSpec>& specs);

    // Numbers of its buckets, in the order of the plan.
    std::vector<std::size_t> buckets() const;

    // A shard, and the place among the bucket's holders of the rank that owns it.
    using Use = std::function<void(std::size_t owner, const optim::ParameterShard& shard)>;

    // Calls `use` for each shard of a bucket, piece by piece. Throws BugError like held_buckets().
    void for_each(std::size_t bucket, const Use& use) const;

    // The number of the parameter that a piece is a part of.
    std::size_t parameter_of(std::size_t piece) const;

private:
    const layout::Placement& placement_of(std::size_t parameter, const layout::Box& piece) const;

    const GradientPlan& plan_;
    int rank_;
    const std::vector<model::ParameterSpec>& specs_;
    std::unordered_map<std::string, std::size_t> numbers_;
};

}  // namespace trireme::stage
