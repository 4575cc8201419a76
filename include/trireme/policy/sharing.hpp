// Changes of plan that help teams with slow ranks without moving state:
//   migration   helper ranks compute a fraction of a slow rank's matmuls; the result is exact
//   resizing    a slow rank skips a fraction of its matmuls; the result is approximate
//   SEMI        both (FlexTP)
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "trireme/layout/broadcast_tree.hpp"
#include "trireme/plan/decision.hpp"
#include "trireme/plan/observation.hpp"
#include "trireme/plan/plan.hpp"

namespace trireme::policy {

// Migrations and skipped fractions of a team, as in Plan, but with indices in the team instead of ranks of the
// job.
struct Sharing {
    std::vector<layout::Migration> migrations = {};
    std::vector<double> skipped = {};  // per rank of the team; see Plan::skipped

    friend bool operator==(const Sharing&, const Sharing&) = default;
};

// Costs of offloading each of the four matmuls of a block. Seconds are per step: sums over the blocks and the
// micro-batches.
struct OffloadCosts {
    layout::MatmulFractions work = {0.25, 0.25, 0.25, 0.25};  // fractions of all matmul work
    // Seconds of one round of the broadcast from a slow rank to its helper ranks, plus one round of the
    // reduction from the helper ranks to the slow rank. In a round, each rank sends at most one message.
    layout::MatmulFractions round_seconds = {};
    // Seconds to send the slow rank's weights, if all of the matmul is offloaded.
    layout::MatmulFractions weight_seconds = {};
    layout::Spread spread = layout::Spread::tree;  // determines the number of rounds
};

struct OffloadRules {
    std::string policy;  // name of the policy in decisions: "migrate" or "semi"
    OffloadCosts costs = {};
    double max_skipped_fraction = 0;  // of a rank's matmuls; 0 means that ranks do not skip
    double max_step_slowdown = 0;  // fraction by which a step may exceed the shortest step, if less is skipped
    // A change of plan needs one of two improvements, unless it ends all sharing.
    double min_gain = 0.03;  // minimum reduction of the slowest team's seconds, as a fraction of these seconds
    double min_change = 0.05;  // minimum reduction of sum_skipped_work()
};

// Returns the seconds per step of a team with `sharing`. These are the seconds of the slowest rank, for its own
// kernels and its work for other ranks, plus predict_offload_seconds(). `times` has one element per rank of the
// team, measured with or without sharing.
double predict_team_seconds(const std::vector<plan::RankTimes>& times, const Sharing& sharing,
                            const OffloadCosts& costs = {});

// Returns the seconds per step that the messages of offloaded work add in a team of `ranks` ranks. The result
// is an upper bound: if any fraction of a matmul is offloaded, the matmul counts as completely offloaded, and
// all other ranks count as helper ranks.
double predict_offload_seconds(const std::vector<layout::Migration>& migrations, std::size_t ranks,
                               const OffloadCosts& costs);

// Returns the skipped work of all ranks, in units of one rank's matmuls. `sharing` may also cover all ranks of
// the job instead of a team.
double sum_skipped_work(const Sharing& sharing, const OffloadCosts& costs);

// Returns the sharing with the shortest step: slow ranks offload or skip enough work that all ranks finish
// together. With a positive max_step_slowdown, the step may be longer by this fraction if less is skipped.
// Three methods are compared:
//   - helper ranks compute fractions of all four matmuls of a block;
//   - helper ranks compute fractions of the matmuls that need no rounds: attention_out and mlp_out;
//   - there are no helper ranks.
// With the last two methods, a slow rank releases (offloads or skips) at most max_skipped_fraction of its
// matmuls. The slowest ranks offload first. Slightly slow ranks may help slower ranks. `times` and `slowness`
// have one element per rank of the team.
Sharing find_best_offload(const std::vector<plan::RankTimes>& times, const std::vector<double>& slowness,
                          const OffloadRules& rules);

// Decides for --straggler migrate, --straggler semi and --bridge which work ranks share. Returns nothing if the
// plan stays.
std::optional<plan::Decision> decide_sharing(const OffloadRules& rules, const plan::Observation& observed,
                                             const plan::Plan& current);

}  // namespace trireme::policy
