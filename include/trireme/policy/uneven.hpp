// Work in proportion to speed: nothing is left out, and nothing is computed elsewhere than where it is held.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/policy/layer_work.hpp"
#include "trireme/policy/policy.hpp"
#include "trireme/policy/sharing.hpp"

namespace trireme::policy {

// A width that the ranks of a team share, behind which they wait for each other: heads, or MLP columns.
struct SharedWidth {
    std::size_t units = 0;  // that are not cut
    double work = 1;        // of a layer's, a part of 1
};

struct UnevenRules {
    std::size_t every = 10;  // steps between two looks
    std::vector<SharedWidth> widths = {};
    std::vector<LayerWork> layers = {};  // of the model; empty: all are alike
    layout::Layout healthy = {};         // who has what while nobody is slow; no stages: all have the same
    bool may_cut = false;                // layers may go to another stage
    bool may_take_turns = false;         // replicas may have unlike numbers of micro-batches
    std::vector<int> nodes = {};         // of each rank; ranks of one may change places. Empty: nobody does
    std::size_t memory_limit = 0;        // bytes of a rank that a cut may fill; 0: any
    HelpCosts costs = {};                // of the help that a slow rank may have before work moves
    double least_gain = 0.05;            // of a step: less is not worth a change,
    double least_of_return = 0.01;       // but for one back to what there was, once nobody is slow
};

// Where it makes a step shorter, and as short as it can:
//   - each rank of a team has its share as a healthy one, divided by how slow it is;
//   - replicas of a stage execute so many micro-batches each that the last one is done as early as can be;
//   - layers are cut so that, with these, the stage that takes longest takes as short as can be, and within the
//     memory limit (Malleus' two problems, both solved exactly, and together);
//   - slow ranks change places with others of their node, and come together in a stage or in a row.
// Ranks that have recovered get back what they had by the same rule.
Policy uneven_shares(UnevenRules rules);

// By what factor the step of a team is longer than that of as many healthy ranks, where rank r takes
// slowness[r] times as long and has as many of the units as `shares` give it.
double stretch_of(const std::vector<SharedWidth>& widths, const std::vector<std::size_t>& shares,
                  const std::vector<double>& slowness);

}  // namespace trireme::policy
