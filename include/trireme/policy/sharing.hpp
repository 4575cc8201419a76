// What a team with slow ranks can do within a step, without moving what anybody holds: others compute a part of
// a slow rank's products (migration, which is exact), or nobody does (resizing, which is not); or, as FlexTP's
// SEMI, both.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trireme/policy/policy.hpp"

namespace trireme {

// Of the ranks of a team, by their places in it.
struct Sharing {
    std::vector<Migration> migrations = {};
    std::vector<double> left_out = {};  // of each rank, a part of its products

    friend bool operator==(const Sharing&, const Sharing&) = default;
};

struct SharingRules {
    std::string policy;          // its name
    std::size_t every = 10;      // steps between two looks
    double limit = 0;            // of what a rank leaves out
    double slack = 0;            // so much longer, as a part of it, may a step be for less to be left out
    double least_gain = 0.03;    // of the time that a team is busy: less is not worth a change
    double least_change = 0.05;  // of what a rank leaves out, likewise
};

// Seconds until the last rank of a team is done with its products and all else.
double seconds_of_team(const std::vector<RankTimes>& times, const Sharing& sharing);

// As short as can be, where slow ranks give away as much as brings all to the same time and nobody leaves out
// more than he must; with a slack, more is given away and less left out. The slowest give to the others first,
// and each to as few as can be.
Sharing shortest_sharing(const std::vector<RankTimes>& times, const std::vector<double>& slowness,
                         const SharingRules& rules);

Policy shared_products(SharingRules rules);

}  // namespace trireme
