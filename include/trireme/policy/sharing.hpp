// What a team with slow ranks can do within a step, without moving what anybody holds: others compute a part of
// a slow rank's products (migration, which is exact), or nobody does (resizing, which is not); or, as FlexTP's
// SEMI, both.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trireme/layout/circle.hpp"
#include "trireme/policy/policy.hpp"

namespace trireme::policy {

// Of the ranks of a team, by their places in it; as Plan has them.
struct Sharing {
    std::vector<layout::Migration> migrations = {};
    std::vector<double> left_out = {};

    friend bool operator==(const Sharing&, const Sharing&) = default;
};

// What it takes to help with a product, in all of a step.
struct HelpCosts {
    layout::ProductParts work = {0.25, 0.25, 0.25, 0.25};  // of all products
    layout::ProductParts round_seconds = {};  // for each round of messages between a slow rank and its helpers
    layout::ProductParts whole_seconds = {};  // for its weights, if all of the product migrated
    layout::Spread spread = layout::Spread::tree;  // how many rounds there are
};

struct SharingRules {
    std::string policy;      // its name
    std::size_t every = 10;  // steps between two looks
    HelpCosts costs = {};
    double limit = 0;            // of what a rank leaves out
    double slack = 0;            // so much longer, as a part of it, may a step be for less to be left out
    double least_gain = 0.03;    // of the time that a team is busy: less is not worth a change
    double least_change = 0.05;  // of what a rank leaves out, likewise
};

// Seconds until the last rank of a team is done with its products and all else, and with helping.
double seconds_of_team(const std::vector<plan::RankTimes>& times, const Sharing& sharing,
                       const HelpCosts& costs = {});

// Of that, what helping takes beside products, in a team of so many.
double seconds_of_helping(const std::vector<layout::Migration>& migrations, std::size_t ranks,
                          const HelpCosts& costs);

// What the ranks leave out, in all, of one rank's products.
double all_left_out(const Sharing& sharing, const HelpCosts& costs);

// As short as can be, where slow ranks give away what brings all to the same time; or, with a slack, a little
// longer and with less left out. Helpers compute some of all products of a slow rank, or of none; where all may
// be left out to the same part, it may be those alone, too, that need no rounds of messages. The slowest lend
// first, and each to as few as can be; of slow ranks those that are the least so may help.
Sharing best_sharing(const std::vector<plan::RankTimes>& times, const std::vector<double>& slowness,
                     const SharingRules& rules);

Policy shared_products(SharingRules rules);

}  // namespace trireme::policy
