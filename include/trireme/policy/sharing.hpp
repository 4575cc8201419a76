// Measures of a team with slow ranks that move no state. Helper ranks compute a fraction of a slow rank's
// matmuls (migration, which is exact), no rank computes it (resizing, which is not), or both (SEMI of FlexTP).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trireme/layout/circle.hpp"
#include "trireme/policy/policy.hpp"

namespace trireme::policy {

// Migrations and skipped fractions of a team. Ranks are positions in the team; otherwise as in Plan.
struct Sharing {
    std::vector<layout::Migration> migrations = {};
    std::vector<double> left_out = {};

    friend bool operator==(const Sharing&, const Sharing&) = default;
};

// Cost of offloading a matmul, summed over a step.
struct HelpCosts {
    layout::ProductParts work = {0.25, 0.25, 0.25, 0.25};  // fraction of all matmul work
    layout::ProductParts round_seconds = {};       // per message round between a slow rank and its helpers
    layout::ProductParts whole_seconds = {};       // to send its weights, if the whole matmul migrates
    layout::Spread spread = layout::Spread::tree;  // determines the number of rounds
};

struct SharingRules {
    std::string policy;      // name for decisions
    std::size_t every = 10;  // steps between two decisions
    HelpCosts costs = {};
    double limit = 0;            // maximum fraction that a rank skips
    double slack = 0;            // fraction by which a step may be longer to skip less
    double least_gain = 0.03;    // fraction of the team's busy time: minimum gain of a change
    double least_change = 0.05;  // fraction of a rank's matmuls: minimum reduction of skipped work
};

// Returns the seconds until the slowest rank of a team has finished its matmuls, its other kernels and the
// offloaded work.
double seconds_of_team(const std::vector<plan::RankTimes>& times, const Sharing& sharing,
                       const HelpCosts& costs = {});

// Returns the part of these seconds that offloading adds beyond the matmuls, in a team of `ranks` ranks.
double seconds_of_helping(const std::vector<layout::Migration>& migrations, std::size_t ranks,
                          const HelpCosts& costs);

// Returns the skipped work of all ranks, in units of one rank's matmuls.
double all_left_out(const Sharing& sharing, const HelpCosts& costs);

// Returns the sharing with the shortest time: slow ranks give away enough work that all ranks finish together.
// With a slack the step may be a little longer if less is skipped. Helper ranks compute a fraction of all
// matmuls of a slow rank, only of those that need no message rounds, or of none; in the last two cases the rest
// must be within the skipping limit. The slowest ranks offload first, each to as few helpers as possible.
// Slightly slow ranks may help slower ones.
Sharing best_sharing(const std::vector<plan::RankTimes>& times, const std::vector<double>& slowness,
                     const SharingRules& rules);

// Returns the policy of --straggler migrate and semi.
Policy shared_products(SharingRules rules);

}  // namespace trireme::policy
