// Linked ranks as groups of groups.
#pragma once

#include <vector>

#include "trireme/layout/links.hpp"

namespace trireme {

// A group of this level has `parts` groups of the level below, or ranks at the first level.
struct GroupLevel {
    int parts = 1;
    int below = 1;   // ranks of a part
    Link link = {};  // among the parts

    friend bool operator==(const GroupLevel&, const GroupLevel&) = default;
};

// From the smallest groups to all ranks; one level at least. Throws ConfigError where the ranks are not made of
// whole groups.
std::vector<GroupLevel> group_levels(const std::vector<LinkLevel>& links, int ranks);

}  // namespace trireme
