#include "policy/planner/published_search.hpp"

#include <algorithm>

#include "policy/select_rank_values.hpp"

namespace trireme::policy {
namespace {

double add_layers(const std::vector<double>& seconds, const layout::Range& layers) {
    double sum = 0;
    for (std::size_t layer = layers.begin; layer < layers.begin + layers.count; ++layer) sum += seconds[layer];
    return sum;
}

double find_slowest_team(const layout::StageLayout& stage, const std::vector<double>& slowness) {
    double slowest = 0;
    for (const layout::ReplicaLayout& replica : stage.replicas)
        slowest = std::max(slowest, std::ranges::max(select_rank_values(replica.ranks, slowness, 1)));
    return slowest;
}

}  // namespace

std::size_t find_fewest_stages(double peak_bytes, double team_bytes, std::size_t teams) {
    for (std::size_t stages = 1; stages < teams; ++stages)
        if (peak_bytes < static_cast<double>(stages) * team_bytes) return stages;
    return teams;
}

CutBounds make_published_bounds(const PublishedSizes& sizes, std::size_t stages) {
    const std::size_t blocks = sizes.blocks / stages;
    const std::size_t replicas = sizes.teams / stages;
    return {.min_runs = blocks,
            .max_runs = std::min(blocks + sizes.blocks % stages, sizes.max_blocks),
            .min_replicas = replicas,
            .max_replicas = replicas + sizes.teams % stages};
}

double compute_published_seconds(const layout::Layout& layout, const CutProblem& costs,
                                 const std::vector<double>& slowness) {
    double sum = 0;
    double longest = 0;
    for (const layout::StageLayout& stage : layout.stages) {
        double microbatch = find_slowest_team(stage, slowness) * add_layers(costs.layer_seconds, stage.layers);
        if (&stage != &layout.stages.back()) microbatch += costs.send_seconds;
        const auto replicas = static_cast<double>(stage.replicas.size());
        const double reduction = 2 * (replicas - 1) / replicas * add_layers(costs.reduce_seconds, stage.layers);
        const double seconds = microbatch / replicas + reduction / costs.microbatches;
        sum += seconds;
        longest = std::max(longest, seconds);
    }
    return sum + (costs.microbatches - 1) * longest;
}

}  // namespace trireme::policy
