#include "stage/held_bucket.hpp"

#include <algorithm>

namespace trireme::stage {
namespace {

std::string to_string(const layout::Box& box) {
    return cat("rows ", box.rows.begin, "..", box.rows.end(), ", columns ", box.columns.begin, "..",
               box.columns.end());
}

// Returns true if all elements of `box` (in the global tensor) have the same offset from tensor to local memory
// as the placement `first`, which contains the first element. Adjacent placements may cover the box together.
bool is_shifted_like(const layout::Placement& first, const layout::Box& box,
                     const std::vector<layout::Placement>& placements) {
    std::size_t covered = 0;
    for (const layout::Placement& placement : placements) {
        const auto& [rows, columns] = placement.box;
        const bool is_alike = placement.row + first.box.rows.begin == first.row + rows.begin &&
                              placement.column + first.box.columns.begin == first.column + columns.begin;
        if (is_alike) covered += intersection(placement.box, box).size();
    }
    return covered == box.size();
}

std::size_t place_among(const std::vector<int>& ranks, int rank) {
    return static_cast<std::size_t>(std::ranges::lower_bound(ranks, rank) - ranks.begin());
}

// Returns the local shard of `part`, a part of a piece whose first element is in the placement `first`.
optim::ParameterShard local(std::size_t parameter, const layout::Placement& first, const layout::Box& part) {
    return {.parameter = parameter,
            .box = {{part.rows.begin - first.box.rows.begin + first.row, part.rows.count},
                    {part.columns.begin - first.box.columns.begin + first.column, part.columns.count}}};
}

comm::Communicator* group_of(const std::vector<int>& holders, int rank, const DataGroups& groups) {
    if (holders.size() == 1) return nullptr;
    const auto group = groups.find(holders);
    if (group == groups.end() || static_cast<std::size_t>(group->second->size()) != holders.size()) {
        throw BugError(cat("rank ", rank, " has no data group for a bucket of ", holders.size(), " holders"));
    }
    return group->second.get();
}

HeldBucket held_bucket(const layout::Bucket& bucket, std::size_t number, int rank, const HeldShards& shards) {
    HeldBucket held;
    held.number = number;
    held.portions.resize(bucket.holders.size());
    held.self = place_among(bucket.holders, rank);
    shards.for_each(number, [&](std::size_t owner, const optim::ParameterShard& shard) {
        held.portions[owner].shards.push_back(shard);
        held.portions[owner].elements += shard.box.size();
    });
    for (const std::size_t piece : bucket.pieces) held.parameters.push_back(shards.parameter_of(piece));
    std::ranges::sort(held.parameters);
    const auto repeated = std::ranges::unique(held.parameters);
    held.parameters.erase(repeated.begin(), repeated.end());
    return held;
}

}  // namespace

HeldShards::HeldShards(const GradientPlan& plan, int rank, const std::vector<model::ParameterSpec>& specs)
    : plan_(plan), rank_(rank), specs_(specs) {
    for (std::size_t i = 0; i < specs.size(); ++i) numbers_[specs[i].name] = i;
}

std::vector<std::size_t> HeldShards::buckets() const {
    std::vector<std::size_t> numbers;
    for (std::size_t b = 0; b < plan_.buckets.size(); ++b) {
        const std::vector<int>& holders = plan_.buckets[b].holders;
        if (rank_ < holders.front() || rank_ > holders.back()) continue;
        if (std::ranges::binary_search(holders, rank_)) numbers.push_back(b);
    }
    return numbers;
}

void HeldShards::for_each(std::size_t bucket, const Use& use) const {
    const auto& [holders, last_use, pieces, shards, elements] = plan_.buckets[bucket];
    for (auto shard = shards.begin(); shard != shards.end();) {
        const std::size_t piece = shard->piece;
        const std::size_t parameter = parameter_of(piece);
        const layout::Placement& first = placement_of(parameter, plan_.pieces[piece].box);
        for (; shard != shards.end() && shard->piece == piece; ++shard)
            use(place_among(holders, shard->owner), local(parameter, first, shard->box));
    }
}

std::size_t HeldShards::parameter_of(std::size_t piece) const {
    const std::string& name = plan_.tensors[plan_.pieces[piece].tensor].name;
    const auto number = numbers_.find(name);
    if (number == numbers_.end()) {
        throw BugError(cat("rank ", rank_, " is to hold a piece of ", name, " and has no such parameter"));
    }
    return number->second;
}

// Returns the placement that contains the first element of a piece.
const layout::Placement& HeldShards::placement_of(std::size_t parameter, const layout::Box& piece) const {
    const model::ParameterSpec& spec = specs_[parameter];
    const layout::Box corner{{piece.rows.begin, 1}, {piece.columns.begin, 1}};
    for (const layout::Placement& placement : spec.placements) {
        if (intersection(placement.box, corner).is_empty()) continue;
        if (is_shifted_like(placement, piece, spec.placements)) return placement;
    }
    throw BugError(cat("rank ", rank_, " is to hold ", to_string(piece), " of ", spec.name,
                       " as one piece and has it not, or not in one place"));
}

std::vector<HeldBucket> held_buckets(const GradientPlan& plan, int rank,
                                     const std::vector<model::ParameterSpec>& specs, const DataGroups& groups) {
    const HeldShards shards(plan, rank, specs);
    std::vector<HeldBucket> held;
    for (const std::size_t number : shards.buckets()) {
        const layout::Bucket& bucket = plan.buckets[number];
        held.push_back(held_bucket(bucket, number, rank, shards));
        held.back().group = group_of(bucket.holders, rank, groups);
    }
    return held;
}

}  // namespace trireme::stage
