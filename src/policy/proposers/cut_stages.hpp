// Cuts the layers of a model into stages with different numbers of replicas, so that a step is short.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace trireme::policy {

// The way in which the replicas of a stage execute the micro-batches of a step.
//   turns    the replicas execute whole micro-batches in turn
//   divided  the replicas divide each micro-batch, as in Eq. (1) of FlexPipe with n - 1
enum class ReplicaWork : std::uint8_t { turns, divided };

// Limits of a cut, and of each of its stages. A run is a list of layers that no cut divides.
struct CutBounds {
    std::size_t max_stages = std::numeric_limits<std::size_t>::max();
    std::size_t min_runs = 1;
    std::size_t max_runs = std::numeric_limits<std::size_t>::max();
    std::size_t min_replicas = 1;
    std::size_t max_replicas = std::numeric_limits<std::size_t>::max();
    std::size_t replica_step = 1;  // all stages but the last one have a multiple of this number of replicas
};

// The memory that the state of a stage takes on each rank of a team, per layer of the model. No stage of a cut
// exceeds the limit.
struct CutMemory {
    std::vector<double> held_bytes = {};     // that each replica of a stage holds
    std::vector<double> divided_bytes = {};  // that the replicas of a stage divide
    double limit = 0;                        // bytes; 0 means no limit, and the vectors are not read
};

// The step of a pipeline whose micro-batches are equal.
struct CutProblem {
    std::vector<double> layer_seconds = {};   // per layer: all passes of a micro-batch, if no rank is slow
    std::vector<double> reduce_seconds = {};  // per layer: all-reduce of its gradients between two replicas
    std::vector<double> slowness = {};        // per team, in the order of the teams; 1 if the team is not slow
    int microbatches = 1;                     // per step, over all replicas
    double send_seconds = 0;                  // per boundary of stages and micro-batch, in both directions
    std::vector<std::size_t> cuts = {};  // layers at which a stage may begin: ascending, the first one is 0
    ReplicaWork replica_work = ReplicaWork::turns;
    // Fraction of c(i) that hides the reduction of gradients, the first half of an all-reduce. The second half,
    // which gathers the new parameters, is not hidden.
    double reduce_overlap = 0;
    CutBounds bounds = {};
    CutMemory memory = {};
};

struct StageCut {
    std::vector<std::size_t> layers = {};    // per stage
    std::vector<std::size_t> replicas = {};  // per stage
    double seconds = 0;                      // of a step
};

// Returns the best cut for each possible number of stages, in ascending order. A cut uses all teams: each stage
// has consecutive layers and consecutive teams, is within bounds and memory, and has at most one replica per
// micro-batch. With n micro-batches, the seconds of a step are
//     turns    sum of t(i) over the stages i  +  maximum of (ceil(n / r(i)) - 1) * t(i) + a(i) over i
//     divided  sum of t(i) over the stages i  +  (n - 1) * maximum of t(i) over i
//     t(i)     c(i) for turns, c(i) / r(i) + a(i) / n for divided
//     c(i)     slowest team's seconds of a micro-batch in stage i, with the boundary after it
//     r(i)     replicas of stage i
//     a(i)     all-reduce of stage i: 2 * (r(i) - 1) / r(i) times that of two replicas. For turns, half of it
//              counts only as far as it takes longer than reduce_overlap * c(i)
// The first sum is the time of the first micro-batch, and the slowest stage executes the others one by one.
//
// The search is exact, except that seconds count as equal if they differ by less than a fraction of 1e-12. Of
// equally good cuts, the one is chosen that balances the stages from the first one on: each stage minimizes the
// longer of its own time and the longest time after it. If this is equal, too, the number of replicas closest
// to an even division of the remaining teams is preferred, then fewer layers, then fewer replicas.
std::vector<StageCut> find_best_cuts(const CutProblem& problem);

// Returns the cut of find_best_cuts() with `stages` stages, without a search for other numbers of stages.
// Returns nothing if there is no such cut.
std::optional<StageCut> find_best_cut(const CutProblem& problem, std::size_t stages);

}  // namespace trireme::policy
