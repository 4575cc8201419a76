// Work in proportion to speed: nothing is skipped, and every rank computes only what it holds.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/policy/layer_work.hpp"
#include "trireme/policy/policy.hpp"
#include "trireme/policy/sharing.hpp"

namespace trireme::policy {

// A width that the ranks of a team share and then synchronize: heads, or MLP columns.
struct SharedWidth {
    std::size_t units = 0;  // indivisible units
    double work = 1;        // fraction of the work of a block
};

struct UnevenRules {
    std::size_t every = 10;  // steps between two decisions
    std::vector<SharedWidth> widths = {};
    std::vector<LayerWork> layers = {};  // of the model; if empty, all layers are equal
    layout::Layout healthy = {};         // while no rank is slow; if empty, the current one with even shares
    bool may_cut = false;                // layers may move to another stage
    bool may_take_turns = false;         // replicas may have different numbers of micro-batches
    std::vector<int> nodes = {};         // per rank; ranks of a node may swap. If empty, no rank may
    std::size_t memory_limit = 0;        // bytes per rank that a cut may use; 0 means no limit
    HelpCosts costs = {};                // of offloading that precedes a change of shares
    double least_gain = 0.05;            // fraction of a step: minimum gain of a change
    double least_of_return = 0.01;       // minimum gain of the return once no rank is slow
};

// Changes the layout if this shortens a step, choosing the shortest step:
//   - the healthy share of each rank of a team is divided by the rank's slowness;
//   - the numbers of micro-batches per replica minimize the time of the last replica of a stage;
//   - given these, the cut of layers minimizes the time of the slowest stage within the memory limit (both
//     problems of Malleus, solved exactly and jointly);
//   - slow ranks swap with others of their node, so that they gather in a stage or in a row.
// The same rule gives recovered ranks their work back.
Policy uneven_shares(UnevenRules rules);

// Returns the ratio of a team's step time to that of equally many healthy ranks. Rank r takes slowness[r] times
// as long per unit and has the number of units that `shares` give it.
double stretch_of(const std::vector<SharedWidth>& widths, const std::vector<std::size_t>& shares,
                  const std::vector<double>& slowness);

}  // namespace trireme::policy
