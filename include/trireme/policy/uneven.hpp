// Shares in proportion to speed: nothing is left out and nothing is computed elsewhere than where it is held,
// so the step of a team with a slow rank is as short as an exact one can be.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/policy/policy.hpp"
#include "trireme/policy/sharing.hpp"

namespace trireme {

// A width that the ranks of a team share, behind which they wait for each other: heads, or MLP columns.
struct SharedWidth {
    std::size_t units = 0;  // that are not cut
    double work = 1;        // of a layer's, a part of 1
};

struct UnevenRules {
    std::size_t every = 10;  // steps between two looks
    std::vector<SharedWidth> widths = {};
    Layout healthy = {};       // whose shares ranks have while nobody is slow
    HelpCosts costs = {};      // of the help that a slow rank may have before it gets a smaller share
    double least_gain = 0.05;  // of a step: less is not worth a change
};

// Gives each rank of each team its share as a healthy one, divided by how slow it is, where that makes a step
// shorter. Ranks that have recovered get back what they had by the same rule.
Policy uneven_shares(UnevenRules rules);

// By what factor the step of a team is longer than that of as many healthy ranks, where rank r takes
// slowness[r] times as long and has as many of the units as `shares` give it.
double stretch_of(const std::vector<SharedWidth>& widths, const std::vector<std::size_t>& shares,
                  const std::vector<double>& slowness);

}  // namespace trireme
