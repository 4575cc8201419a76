#include "stage/held_bucket.hpp"

#include <algorithm>
#include <unordered_map>

namespace trireme {
namespace {

std::string text_of(const Box& box) {
    return cat("rows ", box.rows.begin, "..", box.rows.end(), ", columns ", box.columns.begin, "..",
               box.columns.end());
}

// Whether `box`, of a global tensor, lies in memory as it does in the tensor, all of it shifted like a first
// placement that has its first element: neighbouring placements may go on with each other.
bool is_shifted_like(const Placement& first, const Box& box, const std::vector<Placement>& placements) {
    std::size_t covered = 0;
    for (const Placement& placement : placements) {
        const auto& [rows, columns] = placement.box;
        const bool is_alike = placement.row + first.box.rows.begin == first.row + rows.begin &&
                              placement.column + first.box.columns.begin == first.column + columns.begin;
        if (is_alike) covered += intersection(placement.box, box).size();
    }
    return covered == box.size();
}

// Finds pieces of global tensors in the memory of one rank.
class Places {
public:
    Places(const GradientPlan& plan, int rank, const std::vector<ParameterSpec>& specs)
        : plan_(plan), rank_(rank), specs_(specs) {
        for (std::size_t i = 0; i < specs.size(); ++i) numbers_[specs[i].name] = i;
    }

    std::size_t parameter_of(std::size_t piece) const {
        const std::string& name = plan_.tensors[plan_.pieces[piece].tensor].name;
        const auto number = numbers_.find(name);
        if (number == numbers_.end()) {
            throw BugError(cat("rank ", rank_, " is to hold a piece of ", name, " and has no such parameter"));
        }
        return number->second;
    }

    // Where a part of the piece is.
    ParameterShard local(std::size_t piece, const Box& part) const {
        const std::size_t parameter = parameter_of(piece);
        const Placement& first = placement_of(parameter, plan_.pieces[piece].box);
        return {.parameter = parameter,
                .box = {{part.rows.begin - first.box.rows.begin + first.row, part.rows.count},
                        {part.columns.begin - first.box.columns.begin + first.column, part.columns.count}}};
    }

private:
    // The placement that has the first element of a piece.
    const Placement& placement_of(std::size_t parameter, const Box& piece) const {
        const ParameterSpec& spec = specs_[parameter];
        const Box corner{{piece.rows.begin, 1}, {piece.columns.begin, 1}};
        for (const Placement& placement : spec.placements) {
            if (intersection(placement.box, corner).is_empty()) continue;
            if (is_shifted_like(placement, piece, spec.placements)) return placement;
        }
        throw BugError(cat("rank ", rank_, " is to hold ", text_of(piece), " of ", spec.name,
                           " as one piece and has it not, or not in one place"));
    }

    const GradientPlan& plan_;
    int rank_;
    const std::vector<ParameterSpec>& specs_;
    std::unordered_map<std::string, std::size_t> numbers_;
};

std::size_t place_among(const std::vector<int>& ranks, int rank) {
    return static_cast<std::size_t>(std::ranges::lower_bound(ranks, rank) - ranks.begin());
}

Communicator* group_of(const std::vector<int>& holders, int rank, const DataGroups& groups) {
    if (holders.size() == 1) return nullptr;
    const auto group = groups.find(holders);
    if (group == groups.end() || static_cast<std::size_t>(group->second->size()) != holders.size()) {
        throw BugError(cat("rank ", rank, " has no data group for a bucket of ", holders.size(), " holders"));
    }
    return group->second.get();
}

HeldBucket held_bucket(const Bucket& bucket, int rank, const Places& places) {
    HeldBucket held;
    held.portions.resize(bucket.holders.size());
    held.self = place_among(bucket.holders, rank);
    for (const Shard& shard : bucket.shards) {
        Portion& portion = held.portions[place_among(bucket.holders, shard.owner)];
        portion.shards.push_back(places.local(shard.piece, shard.box));
        portion.elements += shard.box.size();
    }
    for (const std::size_t piece : bucket.pieces) held.parameters.push_back(places.parameter_of(piece));
    std::ranges::sort(held.parameters);
    const auto repeated = std::ranges::unique(held.parameters);
    held.parameters.erase(repeated.begin(), repeated.end());
    return held;
}

}  // namespace

std::vector<HeldBucket> held_buckets(const GradientPlan& plan, int rank,
                                     const std::vector<ParameterSpec>& specs, const DataGroups& groups) {
    const Places places(plan, rank, specs);
    std::vector<HeldBucket> held;
    for (std::size_t b = 0; b < plan.buckets.size(); ++b) {
        const Bucket& bucket = plan.buckets[b];
        if (!std::ranges::binary_search(bucket.holders, rank)) continue;
        held.push_back(held_bucket(bucket, rank, places));
        held.back().number = b;
        held.back().group = group_of(bucket.holders, rank, groups);
    }
    return held;
}

}  // namespace trireme
