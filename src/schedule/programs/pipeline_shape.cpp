#include "trireme/schedule/pipeline_shape.hpp"

#include <algorithm>
#include <numeric>

#include "trireme/base/error.hpp"

namespace trireme::schedule {
namespace {

void require_positive_sizes(int pipe, int replicas, int chunks, int microbatches_each) {
    if (pipe >= 1 && replicas >= 1 && chunks >= 1 && microbatches_each >= 1) return;
    throw ConfigError(cat("all sizes of a process grid must be at least 1, but this grid has pipe ", pipe,
                          ", data ", replicas, ", chunks ", chunks, " and micro-batches ", microbatches_each,
                          "; change --pipe, --data, --chunks or --microbatches"));
}

// Builds the shape of equal pipeline replicas. `positions` has, per stage, the position of its team within a
// pipeline replica. Each replica executes `microbatches_each` micro-batches of a step.
PipelineShape make_replicated_shape(const std::vector<int>& positions, int replicas, int microbatches_each,
                                    bool is_training) {
    const int pipe = 1 + *std::max_element(positions.begin(), positions.end());
    PipelineShape shape{.teams = pipe * replicas,
                        .microbatches = replicas * microbatches_each,
                        .holders = {},
                        .executor = {},
                        .is_training = is_training};
    for (const int position : positions) {
        std::vector<int>& holders = shape.holders.emplace_back();
        std::vector<int>& executors = shape.executor.emplace_back();  // per micro-batch of a step
        for (int replica = 0; replica < replicas; ++replica) {
            const int team = replica * pipe + position;
            holders.push_back(team);
            executors.insert(executors.end(), static_cast<std::size_t>(microbatches_each), team);
        }
    }
    return shape;
}

}  // namespace

bool PipelineShape::is_holder(int team, int stage) const {
    const std::vector<int>& teams_of_stage = holders[static_cast<std::size_t>(stage)];
    return std::find(teams_of_stage.begin(), teams_of_stage.end(), team) != teams_of_stage.end();
}

PipelineShape make_grid_shape(int pipe, int replicas, int chunks, int microbatches_each, bool is_training) {
    require_positive_sizes(pipe, replicas, chunks, microbatches_each);
    std::vector<int> positions;
    for (int stage = 0; stage < pipe * chunks; ++stage) positions.push_back(stage % pipe);
    return make_replicated_shape(positions, replicas, microbatches_each, is_training);
}

PipelineShape make_v_shape(int pipe, int replicas, int microbatches_each, bool is_training) {
    require_positive_sizes(pipe, replicas, 2, microbatches_each);
    std::vector<int> positions;
    for (int stage = 0; stage < 2 * pipe; ++stage) positions.push_back(std::min(stage, 2 * pipe - 1 - stage));
    return make_replicated_shape(positions, replicas, microbatches_each, is_training);
}

PipelineShape make_uneven_shape(const std::vector<int>& replicas, int microbatches, bool is_training) {
    const int min_replicas = replicas.empty() ? 0 : *std::min_element(replicas.begin(), replicas.end());
    if (min_replicas < 1 || microbatches < 1) {
        throw ConfigError(
            cat("a pipeline needs at least 1 stage, 1 replica per stage and 1 micro-batch, but this one has "
                "stages: ",
                replicas.size(), ", replicas of the smallest stage: ", min_replicas,
                ", micro-batches: ", microbatches, "; change the layout or --microbatches"));
    }
    PipelineShape shape{.teams = std::accumulate(replicas.begin(), replicas.end(), 0),
                        .microbatches = microbatches,
                        .holders = {},
                        .executor = {},
                        .is_training = is_training};
    int first_team = 0;
    for (const int replica_count : replicas) {
        std::vector<int>& holders = shape.holders.emplace_back(static_cast<std::size_t>(replica_count));
        std::iota(holders.begin(), holders.end(), first_team);
        std::vector<int>& executors = shape.executor.emplace_back();
        for (int m = 0; m < microbatches; ++m) executors.push_back(first_team + m % replica_count);
        first_team += replica_count;
    }
    return shape;
}

}  // namespace trireme::schedule
