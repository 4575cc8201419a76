// ZERO-resizing (FlexTP): a slow rank leaves out so much of its matrix products that it is done when the others
// are. What is left out is lost: losses are no longer those of a single rank.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/policy/policy.hpp"

namespace trireme::policy {

struct ResizeRules {
    std::size_t every = 10;      // steps between two looks
    double limit = 0.9;          // of what a rank leaves out
    double least_change = 0.05;  // less is not worth other lists
};

// Of the ranks of a team: the parts that are to be left out by those that are slow, so that each takes as long
// as the fastest one would if nobody left out anything. That is what times are held beside; a rule that takes
// what was measured of a part for the whole never settles.
std::vector<double> parts_to_leave_out(const std::vector<plan::RankTimes>& times,
                                       const std::vector<double>& slowness, double limit);

Policy resized_products(ResizeRules rules);

}  // namespace trireme::policy
