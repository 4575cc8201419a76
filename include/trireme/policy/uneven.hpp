// Uneven layouts: each rank gets work in proportion to its speed. No work is skipped or offloaded.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/plan/plan.hpp"
#include "trireme/policy/candidate.hpp"
#include "trireme/policy/layer_work.hpp"
#include "trireme/policy/sharing.hpp"

namespace trireme::policy {

// A width of a block that is divided among the ranks of a team: key-value heads, or MLP columns. The ranks wait
// for each other after the matmuls of each width.
struct SharedWidth {
    std::size_t units = 0;  // number of indivisible units: heads or columns
    double work = 1;        // fraction of a block's matmul work that is divided along this width
};

struct UnevenRules {
    std::vector<SharedWidth> widths = {};  // all widths of a block; the sum of `work` is 1
    std::vector<LayerWork> layers = {};    // per layer of the model; if empty, all layers have equal work
    bool may_move_layers = false;          // layers may move between stages
    bool may_change_turns = false;         // replicas of a stage may get different numbers of micro-batches
    std::vector<int> nodes = {};   // node of each rank. Ranks of a node may swap; if empty, no ranks swap
    std::size_t memory_limit = 0;  // bytes per rank; 0 means no limit
    OffloadCosts costs = {};       // costs of migrations in the current plan
};

// Returns `layout` with equal shares for all ranks and equal turns for all replicas.
layout::Layout make_even_layout(layout::Layout layout);

// Returns the proposer of --straggler uneven. `current` is the plan of the observation. The proposer varies
// layouts for equally fast ranks, and the caller passes such a layout as the candidate's. The candidates
// combine these changes of it:
//   - the share of each rank is divided by the rank's slowness;
//   - the numbers of micro-batches per replica minimize the time of the slowest replica of a stage;
//   - the layers are distributed so that the time of the slowest stage, with these numbers of micro-batches,
//     is minimal within the memory limit (Malleus also distributes micro-batches and layers; here both
//     problems are solved exactly and jointly);
//   - slow ranks swap with other ranks of their node, so that few stages or few pipeline replicas contain slow
//     ranks. A swap is always combined with new numbers of micro-batches or a new distribution of layers.
// The last three changes require that each team holds one stage. If no rank is slow, the layout itself is the
// only candidate, so that recovered ranks get their work back. The arguments must outlive the proposer.
Proposer make_uneven_proposer(const UnevenRules& rules, const plan::Plan& current);

// Returns the time of a team's matmuls, divided by the time of a healthy team of equal size in which every
// width is divided exactly evenly. `shares` and `slowness` have one element per rank of the team. Rank r takes
// slowness[r] times as long per unit as a healthy rank, and has the units that layout::cut_by_weights() gives
// it for `shares`.
double compute_slowdown(const std::vector<SharedWidth>& widths, const std::vector<std::size_t>& shares,
                        const std::vector<double>& slowness);

}  // namespace trireme::policy
