// Buckets from the view of one holder: their shards in its own memory.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/optim/optimizer.hpp"
#include "trireme/stage/gradient_exchange.hpp"

namespace trireme::stage {

// The elements of a bucket that one holder sums, in this rank's memory. In messages they are ordered shard
// after shard, row after row.
struct Portion {
    std::vector<optim::ParameterShard> shards;
    std::size_t elements = 0;
};

struct HeldBucket {
    std::size_t number = 0;               // index in the plan
    comm::Communicator* group = nullptr;  // group of the holders; null if this rank is the only one
    std::vector<Portion> portions;        // per holder, in the order of the group
    std::size_t self = 0;                 // this rank's index in `portions`
    std::vector<std::size_t> parameters;  // this rank's parameters with elements in the bucket, ascending

    const Portion& own() const { return portions[self]; }
};

// Returns the buckets that `rank` holds, in the order of the plan. Throws BugError if plan, specs and groups
// are inconsistent.
std::vector<HeldBucket> held_buckets(const GradientPlan& plan, int rank,
                                     const std::vector<model::ParameterSpec>& specs, const DataGroups& groups);

// The shards of the buckets that a rank holds, as they lie in its memory.
class HeldShards {
public:
    // Keeps references to `plan` and `specs`.
    HeldShards(const GradientPlan& plan, int rank, const std::vector<model::ParameterSpec>& specs);

    // Returns the numbers of the rank's buckets, in the order of the plan.
    std::vector<std::size_t> buckets() const;

    // `owner` is the position of the shard's owner among the holders of the bucket.
    using Use = std::function<void(std::size_t owner, const optim::ParameterShard& shard)>;

    // Calls `use` for each shard of a bucket, piece by piece. Throws BugError like held_buckets().
    void for_each(std::size_t bucket, const Use& use) const;

    // Returns the number of the parameter that a piece belongs to. Throws BugError if the rank lacks it.
    std::size_t parameter_of(std::size_t piece) const;

private:
    const layout::Placement& placement_of(std::size_t parameter, const layout::Box& piece) const;

    const GradientPlan& plan_;
    int rank_;
    const std::vector<model::ParameterSpec>& specs_;
    std::unordered_map<std::string, std::size_t> numbers_;
};

}  // namespace trireme::stage
