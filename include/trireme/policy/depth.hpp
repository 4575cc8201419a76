// Layouts for a number of frozen blocks, for --auto-pipe on.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "trireme/policy/length.hpp"

namespace trireme::policy {

struct DepthRules {
    // Its teams are in the order of their ranks, and its cuts have the first layers of the embedding, of each
    // block and of the head.
    LengthRules layers = {};
    std::size_t max_stages = 1;
    std::vector<int> nodes = {};  // per rank: a number that is equal for ranks of a node
    // Number of pipelines if ranks that become free stay idle; 0 if they hold replicas.
    std::size_t fixed_pipelines = 0;
    // Returns the samples of a step of this number of pipelines. Empty if all plans have the same number.
    std::function<std::size_t(std::size_t pipelines)> count_samples = {};
    std::vector<double> gradient_bytes = {};  // per layer, on each rank of a team; 0 if the layer is frozen
    // Seconds in which a rank exchanges a byte with a rank of its node, and with another node if all ranks of
    // its node do so.
    double near_byte_seconds = 0;
    double far_byte_seconds = 0;
    // Bytes on each rank of a team, per layer: those that each replica of a stage holds, and those that the
    // replicas divide. Frozen layers have neither gradients nor optimizer state.
    std::vector<double> held_bytes = {};
    std::vector<double> divided_bytes = {};
    double memory_limit = 0;  // bytes per rank; 0 means no limit
    // Predicts the seconds of a step. Returns nothing if the plan fails a check, memory included. Required.
    std::function<std::optional<double>(const Candidate&, const plan::StepAhead& step)> predict = {};
};

// Returns the proposer "auto-pipe". It considers the step ahead with the median number of tokens, and
//   - pipelines of K stages for each K up to `max_stages`: fixed_pipelines of them, or the largest number that
//     the teams allow. Layers are cut exactly, even inside blocks. Each pipeline lies within a node if nodes
//     are large enough. Alternatives have consecutive ranks in each pipeline, or in the replicas of each stage.
//     A pipeline has K, 2 K, ... 6 K micro-batches, or one per sample if the step has fewer samples;
//   - stages with different numbers of replicas on all teams, with whole blocks in large models, unless ranks
//     that become free stay idle or the number of samples follows that of pipelines.
// The formula of find_best_cuts(), with the links of each layout and reductions that overlap with the backward
// pass, chooses the best possible plans of each kind, with different numbers of stages first. `predict` then
// judges them, and small changes of the fastest ones: other cuts, replicas, ranks and numbers of micro-batches.
// It judges fewer plans if there are many layers and teams. The proposer returns the 8 fastest plans.
// It remembers those for recent classes of lengths.
Proposer make_depth_proposer(DepthRules rules);

}  // namespace trireme::policy
