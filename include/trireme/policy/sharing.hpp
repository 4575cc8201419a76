// Changes of plan for a team with slow ranks that move no state. A fraction of a slow rank's matmuls is
// computed by helper ranks (migration, which is exact), is skipped (resizing, which is not), or is divided
// between both (SEMI of FlexTP).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trireme/layout/broadcast_tree.hpp"
#include "trireme/policy/policy.hpp"

namespace trireme::policy {

// Migrations and skipped fractions of a team, as in Plan, but with indices in the team instead of ranks of the
// job.
struct Sharing {
    std::vector<layout::Migration> migrations = {};
    std::vector<double> skipped = {};

    friend bool operator==(const Sharing&, const Sharing&) = default;
};

// Costs of offloading each of the four matmuls of a block, summed over all blocks and micro-batches of a step.
struct OffloadCosts {
    layout::MatmulFractions work = {0.25, 0.25, 0.25, 0.25};  // fraction of all matmul work
    layout::MatmulFractions round_seconds = {};  // per round of messages between a slow rank and its helpers
    // Seconds to send the slow rank's weights, if all of the matmul is offloaded.
    layout::MatmulFractions weight_seconds = {};
    layout::Spread spread = layout::Spread::tree;  // determines the number of rounds
};

struct OffloadRules {
    std::string policy;       // name of the policy in decisions
    std::size_t period = 10;  // steps between two decisions
    OffloadCosts costs = {};
    double max_skipped_fraction = 0;  // of a rank's matmuls; 0 means that ranks do not skip
    double max_step_slowdown = 0;     // fraction by which a step may be longer if less is skipped
    double min_gain = 0.03;           // minimum gain of a change, as a fraction of the team's busy time
    double min_change = 0.05;         // minimum reduction of skipped work, as a fraction of one rank's matmuls
};

// Returns the seconds per step until the slowest rank of a team has finished its matmuls, its other kernels and
// the work that it computes for other ranks, plus predict_offload_seconds(). `times` has one element per rank
// of the team.
double predict_team_seconds(const std::vector<plan::RankTimes>& times, const Sharing& sharing,
                            const OffloadCosts& costs = {});

// Returns the seconds per step that the messages of offloaded work add, in a team of `ranks` ranks.
double predict_offload_seconds(const std::vector<layout::Migration>& migrations, std::size_t ranks,
                               const OffloadCosts& costs);

// Returns the skipped work of all ranks, in units of one rank's matmuls.
double sum_skipped_work(const Sharing& sharing, const OffloadCosts& costs);

// Returns the sharing with the shortest step: slow ranks offload or skip enough work that all ranks finish
// together. With a positive max_step_slowdown, the step may be longer by this fraction if less is skipped.
// Three methods are compared: helper ranks compute fractions of all matmuls, only of the matmuls that need no
// message rounds, or of none. With the last two methods, the work that a slow rank releases (offloads or skips)
// must be within max_skipped_fraction. The slowest ranks offload first, each to as few helpers as possible.
// Slightly slow ranks may help slower ranks.
Sharing find_best_offload(const std::vector<plan::RankTimes>& times, const std::vector<double>& slowness,
                          const OffloadRules& rules);

// Returns the policy of --straggler migrate and semi.
Policy make_offload_policy(OffloadRules rules);

}  // namespace trireme::policy
