// Uneven layouts: each rank gets work in proportion to its speed. No work is skipped or offloaded.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/policy/layer_work.hpp"
#include "trireme/policy/policy.hpp"
#include "trireme/policy/sharing.hpp"

namespace trireme::policy {

// A width that is divided among the ranks of a team: key-value heads, or MLP columns. The ranks wait for each
// other after the matmuls of each width.
struct SharedWidth {
    std::size_t units = 0;  // number of indivisible units
    double work = 1;        // fraction of the work of a block
};

struct UnevenRules {
    std::size_t period = 10;  // steps between two decisions
    std::vector<SharedWidth> widths = {};
    std::vector<LayerWork> layers = {};  // per layer of the model; if empty, all layers have equal work
    // Layout for equally fast ranks; if empty, the current one with even shares.
    layout::Layout healthy_layout = {};
    bool may_move_layers = false;   // layers may move between stages
    bool may_change_turns = false;  // replicas may have different numbers of micro-batches
    std::vector<int> nodes = {};    // node of each rank; ranks of a node may swap. If empty, ranks do not swap
    std::size_t memory_limit = 0;   // bytes per rank; 0 means no limit
    OffloadCosts costs = {};        // of migrations in the current plan
    double min_gain = 0.05;         // minimum gain of a change, as a fraction of a step
    double min_return_gain = 0.01;  // the same for the return to healthy_layout when no rank is slow
};

// Returns the policy of --straggler uneven. The policy changes to the layout with the shortest step, if the
// gain is large enough. The candidates combine these changes of healthy_layout:
//   - the share of each rank is divided by the rank's slowness;
//   - the numbers of micro-batches per replica minimize the time of the slowest replica of a stage;
//   - the layers are distributed so that the time of the slowest stage, with these numbers of micro-batches,
//     is minimal within the memory limit (Malleus also distributes micro-batches and layers; here both
//     problems are solved exactly and jointly);
//   - slow ranks swap with other ranks of their node, so that the slow ranks are in the same stage or in the
//     same pipeline replica.
// The same rule gives recovered ranks their work back.
Policy make_uneven_policy(UnevenRules rules);

// Returns the time of a team's matmuls relative to a team of the same size whose ranks are healthy and have
// even shares. Rank r takes slowness[r] times as long per unit, and has the number of units that `shares` give
// it.
double compute_slowdown(const std::vector<SharedWidth>& widths, const std::vector<std::size_t>& shares,
                        const std::vector<double>& slowness);

}  // namespace trireme::policy
