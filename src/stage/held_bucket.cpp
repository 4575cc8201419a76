#include "stage/held_bucket.hpp"

#include <algorithm>

namespace trireme::stage {
namespace {

std::string to_string(const layout::Box& box) {
    return cat("rows ", box.rows.begin, "..", box.rows.end(), ", columns ", box.columns.begin, "..",
               box.columns.end());
}

// Returns true if `box`, a box of the global tensor, is also one box in the matrix of this rank: all elements
// of `box` have the row and column offset of `first`. `first` is the placement that contains the first
// element of `box`. Several placements may cover `box` together.
bool has_same_offset(const layout::Placement& first, const layout::Box& box,
                     const std::vector<layout::Placement>& placements) {
    std::size_t covered_elements = 0;
    for (const layout::Placement& placement : placements) {
        const auto& [rows, columns] = placement.box;
        const bool has_offset_of_first =
            placement.row + first.box.rows.begin == first.row + rows.begin &&
            placement.column + first.box.columns.begin == first.column + columns.begin;
        if (has_offset_of_first) covered_elements += intersect(placement.box, box).size();
    }
    return covered_elements == box.size();
}

// Returns the position of `rank` in `ranks`. `ranks` is ascending and contains `rank`.
std::size_t find_position(const std::vector<int>& ranks, int rank) {
    return static_cast<std::size_t>(std::ranges::lower_bound(ranks, rank) - ranks.begin());
}

// Converts `shard_box`, a box of the global tensor within a piece, to a shard in the matrix of this rank.
// `first` is the placement that contains the first element of the piece.
optim::ParameterShard to_local_shard(std::size_t parameter, const layout::Placement& first,
                                     const layout::Box& shard_box) {
    return {
        .parameter = parameter,
        .box = {{shard_box.rows.begin - first.box.rows.begin + first.row, shard_box.rows.count},
                {shard_box.columns.begin - first.box.columns.begin + first.column, shard_box.columns.count}}};
}

// Returns the group of `holders`, or null if there is only one holder.
comm::Communicator* find_group(const std::vector<int>& holders, int rank, const DataGroups& groups) {
    if (holders.size() == 1) return nullptr;
    const auto group = groups.find(holders);
    if (group == groups.end() || static_cast<std::size_t>(group->second->size()) != holders.size()) {
        throw BugError(cat("rank ", rank, " has no data group for a bucket of ", holders.size(), " holders"));
    }
    return group->second.get();
}

// Returns the bucket with `group` unset. `index` is the bucket's index in the plan.
HeldBucket make_held_bucket(const layout::Bucket& bucket, std::size_t index, int rank,
                            const HeldShards& shards) {
    HeldBucket held;
    held.index = index;
    held.portions.resize(bucket.holders.size());
    held.own_position = find_position(bucket.holders, rank);
    shards.for_each(index, [&](std::size_t owner, const optim::ParameterShard& shard) {
        held.portions[owner].shards.push_back(shard);
        held.portions[owner].elements += shard.box.size();
    });
    for (const std::size_t piece : bucket.pieces) held.parameters.push_back(shards.find_parameter(piece));
    std::ranges::sort(held.parameters);
    const auto repeated = std::ranges::unique(held.parameters);
    held.parameters.erase(repeated.begin(), repeated.end());
    return held;
}

}  // namespace

HeldShards::HeldShards(const GradientPlan& plan, int rank, const std::vector<model::ParameterSpec>& specs)
    : plan_(plan), rank_(rank), specs_(specs) {
    for (std::size_t i = 0; i < specs.size(); ++i) parameter_indices_[specs[i].name] = i;
}

std::vector<std::size_t> HeldShards::list_buckets() const {
    std::vector<std::size_t> indices;
    for (std::size_t b = 0; b < plan_.buckets.size(); ++b) {
        const std::vector<int>& holders = plan_.buckets[b].holders;
        if (rank_ < holders.front() || rank_ > holders.back()) continue;
        if (std::ranges::binary_search(holders, rank_)) indices.push_back(b);
    }
    return indices;
}

void HeldShards::for_each(std::size_t bucket, const Use& use) const {
    const auto& [holders, last_use, pieces, shards, elements] = plan_.buckets[bucket];
    for (auto shard = shards.begin(); shard != shards.end();) {
        const std::size_t piece = shard->piece;
        const std::size_t parameter = find_parameter(piece);
        const layout::Placement& first = find_placement(parameter, plan_.pieces[piece].box);
        for (; shard != shards.end() && shard->piece == piece; ++shard)
            use(find_position(holders, shard->owner), to_local_shard(parameter, first, shard->box));
    }
}

std::size_t HeldShards::find_parameter(std::size_t piece) const {
    const std::string& name = plan_.tensors[plan_.pieces[piece].tensor].name;
    const auto index = parameter_indices_.find(name);
    if (index == parameter_indices_.end()) {
        throw BugError(
            cat("rank ", rank_, " must hold a piece of ", name, ", but has no parameter of this name"));
    }
    return index->second;
}

// Returns the placement that contains the first element of `piece`, a box of the global tensor. Throws BugError
// if the matrix of this rank does not contain the piece as one box.
const layout::Placement& HeldShards::find_placement(std::size_t parameter, const layout::Box& piece) const {
    const model::ParameterSpec& spec = specs_[parameter];
    const layout::Box corner{{piece.rows.begin, 1}, {piece.columns.begin, 1}};
    for (const layout::Placement& placement : spec.placements) {
        if (intersect(placement.box, corner).is_empty()) continue;
        if (has_same_offset(placement, piece, spec.placements)) return placement;
    }
    throw BugError(cat("rank ", rank_, " must hold ", to_string(piece), " of ", spec.name,
                       " as one piece, but does not hold them as one box of its matrix"));
}

std::vector<HeldBucket> find_held_buckets(const GradientPlan& plan, int rank,
                                          const std::vector<model::ParameterSpec>& specs,
                                          const DataGroups& groups) {
    const HeldShards shards(plan, rank, specs);
    std::vector<HeldBucket> held;
    for (const std::size_t index : shards.list_buckets()) {
        const layout::Bucket& bucket = plan.buckets[index];
        held.push_back(make_held_bucket(bucket, index, rank, shards));
        held.back().group = find_group(bucket.holders, rank, groups);
    }
    return held;
}

}  // namespace trireme::stage
