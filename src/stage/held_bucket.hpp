// Buckets as one holder sees them: each shard has a position in the memory of this holder.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/optim/optimizer.hpp"
#include "trireme/stage/gradient_exchange.hpp"

namespace trireme::stage {

// The elements of a bucket that one holder sums, as shards in this rank's memory. A message of a portion
// contains the elements shard by shard, and row by row within a shard.
struct Portion {
    std::vector<optim::ParameterShard> shards;
    std::size_t elements = 0;
};

struct HeldBucket {
    std::size_t index = 0;                // index in GradientPlan::buckets
    comm::Communicator* group = nullptr;  // group of the holders; null if this rank is the only holder
    std::vector<Portion> portions;        // per holder, in the order of the group
    std::size_t own_position = 0;         // this rank's index in `portions`
    // Indices of this rank's parameters that have elements in the bucket, ascending.
    std::vector<std::size_t> parameters;

    const Portion& own() const { return portions[own_position]; }
};

// Returns the buckets that rank `rank` (this rank) holds, in the order of the plan. `groups` must outlive the
// result. Throws BugError if plan, specs and groups are inconsistent.
std::vector<HeldBucket> find_held_buckets(const GradientPlan& plan, int rank,
                                          const std::vector<model::ParameterSpec>& specs,
                                          const DataGroups& groups);

// Locates, in the memory of a rank, the shards of all buckets that the rank holds.
class HeldShards {
public:
    // Keeps references to `plan` and `specs`.
    HeldShards(const GradientPlan& plan, int rank, const std::vector<model::ParameterSpec>& specs);

    // Returns the indices of the rank's buckets in the plan, ascending.
    std::vector<std::size_t> list_buckets() const;

    // `owner` is the position of the shard's owner among the holders of the bucket.
    using Use = std::function<void(std::size_t owner, const optim::ParameterShard& shard)>;

    // Calls `use` for each shard of a bucket, piece by piece. `bucket` is the bucket's index in the plan. The
    // rank must hold this bucket. Throws BugError if plan and specs are inconsistent.
    void for_each(std::size_t bucket, const Use& use) const;

    // Returns the index in `specs` of the parameter to which a piece belongs. `piece` is an index in the plan.
    // Throws BugError if the rank does not hold the parameter.
    std::size_t find_parameter(std::size_t piece) const;

private:
    const layout::Placement& find_placement(std::size_t parameter, const layout::Box& piece) const;

    const GradientPlan& plan_;
    int rank_;
    const std::vector<model::ParameterSpec>& specs_;
    std::unordered_map<std::string, std::size_t> parameter_indices_;
};

}  // namespace trireme::stage
