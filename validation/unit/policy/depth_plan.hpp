// Plans for tests of the proposer "auto-pipe".
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "trireme/base/message_text.hpp"
#include "unit/policy/depth_problem.hpp"

namespace trireme::policy {

// The ranks of the replicas of each stage. Each replica has one rank.
using StageRanks = std::vector<std::vector<int>>;

struct DepthPlan {
    StageRanks ranks = {};
    std::vector<std::size_t> ends = {};  // per stage: the layer after its last one
    int microbatches = 0;                // over all replicas

    std::size_t begin(std::size_t stage) const { return stage == 0 ? 0 : ends[stage - 1]; }
};

inline DepthPlan make_depth_plan(const Candidate& candidate) {
    DepthPlan plan{.microbatches = candidate.microbatches};
    for (const layout::StageLayout& stage : candidate.layout->stages) {
        plan.ends.push_back(stage.layers.end());
        plan.ranks.emplace_back();
        for (const layout::ReplicaLayout& replica : stage.replicas)
            plan.ranks.back().push_back(replica.ranks.front());
    }
    return plan;
}

inline bool has_equal_replicas(const StageRanks& ranks) {
    return std::ranges::all_of(ranks, [&](const auto& stage) { return stage.size() == ranks[0].size(); });
}

// Returns the bytes of a stage on each of its ranks.
inline double find_state_bytes(const DepthRules& rules, std::size_t begin, std::size_t end,
                               std::size_t replicas) {
    double bytes = 0;
    for (std::size_t layer = begin; layer < end; ++layer)
        bytes += rules.held_bytes[layer] + rules.divided_bytes[layer] / static_cast<double>(replicas);
    return bytes;
}

inline std::string to_string(const DepthPlan& plan) {
    std::string text = cat(plan.microbatches, " micro-batches");
    for (std::size_t stage = 0; stage < plan.ends.size(); ++stage)
        text += cat(" | layers ", plan.begin(stage), "-", plan.ends[stage] - 1, " on ",
                    layout::ranks_to_string(plan.ranks[stage]));
    return text;
}

// True if each stage is within the memory limit. Sums in another order round differently.
inline bool fits_memory(const DepthRules& rules, const DepthPlan& plan) {
    if (rules.memory_limit == 0) return true;
    for (std::size_t stage = 0; stage < plan.ends.size(); ++stage)
        if (find_state_bytes(rules, plan.begin(stage), plan.ends[stage], plan.ranks[stage].size()) >
            rules.memory_limit * (1 + 1e-12))
            return false;
    return true;
}

// Returns the replicas of all contiguous plans on ranks `first` to `ranks` - 1, with at most `max_stages`
// stages.
inline std::vector<StageRanks> list_divisions(int first, int ranks, std::size_t max_stages) {
    if (first == ranks) return {{}};
    if (max_stages == 0) return {};
    std::vector<StageRanks> divisions;
    std::vector<int> replicas;
    for (int rank = first; rank < ranks; ++rank) {
        replicas.push_back(rank);
        for (StageRanks& later : list_divisions(rank + 1, ranks, max_stages - 1)) {
            later.insert(later.begin(), replicas);
            divisions.push_back(std::move(later));
        }
    }
    return divisions;
}

// Returns grids of `pipelines` pipelines of `stages` ranks: consecutive pipelines, and consecutive replicas of
// each stage.
inline std::vector<StageRanks> list_grids(int stages, int pipelines) {
    std::vector<StageRanks> grids(2, StageRanks(static_cast<std::size_t>(stages)));
    for (int stage = 0; stage < stages; ++stage) {
        for (int pipeline = 0; pipeline < pipelines; ++pipeline) {
            grids[0][static_cast<std::size_t>(stage)].push_back(pipeline * stages + stage);
            grids[1][static_cast<std::size_t>(stage)].push_back(stage * pipelines + pipeline);
        }
    }
    return grids;
}

// Returns a grid of at most `pipelines` pipelines of `stages` ranks, each on consecutive ranks of one node.
inline StageRanks make_grid_within_nodes(const std::vector<int>& nodes, std::size_t stages,
                                         std::size_t pipelines) {
    StageRanks grid(stages);
    std::size_t first = 0;
    while (first + stages <= nodes.size() && grid.front().size() < pipelines) {
        const bool is_within_node = nodes[first] == nodes[first + stages - 1];
        for (std::size_t stage = 0; is_within_node && stage < stages; ++stage)
            grid[stage].push_back(static_cast<int>(first + stage));
        first += is_within_node ? stages : 1;
    }
    return grid;
}

}  // namespace trireme::policy
