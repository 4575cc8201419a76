// Layouts for a number of frozen blocks, for --auto-pipe on.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "trireme/policy/length.hpp"

namespace trireme::policy {

struct DepthRules {
    // Its teams are in the order of their ranks, and its cuts have the first layers of the embedding, of each
    // block and of the head.
    LengthRules layers = {};
    std::size_t max_stages = 1;
    std::size_t max_microbatches = 1;         // per step, over all replicas
    std::vector<int> nodes = {};              // per rank
    std::vector<double> gradient_bytes = {};  // per layer, on each rank of a team
    // Seconds in which a rank exchanges a byte with a rank of its node, and with another node if all ranks of
    // its node do so.
    double near_byte_seconds = 0;
    double far_byte_seconds = 0;
    // Number of pipelines if ranks that become free stay idle; 0 if they hold replicas.
    std::size_t fixed_pipelines = 0;
    // Bytes on each rank of a team, per layer: those that each replica of a stage holds, and those that the
    // replicas divide. Frozen layers have neither gradients nor optimizer state.
    std::vector<double> held_bytes = {};
    std::vector<double> divided_bytes = {};
    double memory_limit = 0;                                 // bytes per rank; 0 means no limit
    std::function<bool(const Candidate&)> is_possible = {};  // all checks of a plan, memory included
};

// Returns the proposer "auto-pipe". It considers the step ahead with the median number of tokens, and
//   - pipelines of K stages for each K up to `max_stages`: fixed_pipelines of them, or the largest number that
//     the teams allow. Layers are cut exactly, even inside blocks. Each pipeline lies within a node if nodes
//     are large enough; an alternative has the replicas of a stage on consecutive ranks. A pipeline has
//     K, 2 K, ... or 6 K micro-batches, or fewer if the step has fewer samples;
//   - stages with different numbers of replicas on all teams, with whole blocks, and with the numbers of
//     micro-batches of the best pipelines.
// Of the possible candidates, it proposes up to 5 of the first kind and 3 of the second, with the shortest
// steps by the formula of find_best_cuts(). For the first kind, the formula has the links of each layout.
Proposer make_depth_proposer(DepthRules rules);

}  // namespace trireme::policy
