// Layouts for the lengths of the samples of coming steps.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "trireme/plan/observation.hpp"
#include "trireme/policy/candidate.hpp"

namespace trireme::policy {

// The lengths of the samples of a step, rounded down to a quarter of an octave.
struct LengthClass {
    int longest = 0;  // of the longest sample: floor(4 * log2(length))
    int mean = 0;     // of the mean length

    friend auto operator<=>(const LengthClass&, const LengthClass&) = default;
};

// `lengths` must not be empty.
LengthClass find_length_class(const std::vector<std::uint32_t>& lengths);

// The costs of a typical micro-batch of a step.
struct LengthCosts {
    std::vector<double> layer_seconds = {};  // per layer: all passes on a team that is not slow
    double send_seconds = 0;                 // per boundary of stages, in both directions
};

struct LengthRules {
    std::vector<std::vector<int>> teams = {};  // ranks of each tensor group, all groups of equal size
    std::vector<std::size_t> shares = {};      // per rank of a team; if empty, all ranks have equal shares
    std::vector<std::size_t> cuts = {};  // layers at which a stage may begin: ascending, the first one is 0
    std::vector<double> reduce_seconds = {};  // per layer: all-reduce of its gradients between two replicas
    // Predicts the costs for a step with `microbatches` micro-batches. The proposer calls it with steps whose
    // lengths it has rounded down, and whose number is 0. The result must only depend on the arguments.
    std::function<LengthCosts(const plan::StepAhead& step, int microbatches)> costs = {};
};

// Returns the proposer "length". For each class of the steps ahead, in the order of their first steps, and for
// each number of stages, the proposer cuts the layers so that a typical step of the class is short. Each stage
// may have another number of replicas, but not more than there are micro-batches. Candidates keep the
// micro-batches and the schedule, and all replicas have one turn. There are up to two candidates per cut:
//   - the replicas of a stage are consecutive teams;
//   - the stages of a pipeline are consecutive teams, so that pipelines stay within nodes. Replica k of the r
//     replicas of a stage is at position (k + 0.5) / r; earlier stages come first at equal positions. If teams
//     differ in their slowness, this candidate is omitted.
// A team is as slow as its slowest rank. Equal layouts appear once. The proposer remembers the cuts of recent
// classes, but its candidates depend only on its arguments.
Proposer make_length_proposer(LengthRules rules);

}  // namespace trireme::policy
