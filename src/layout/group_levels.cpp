#include "layout/group_levels.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"

namespace trireme {

std::vector<GroupLevel> group_levels(const std::vector<LinkLevel>& links, int ranks) {
    std::vector<GroupLevel> levels;
    int joined = 1;  // ranks of a group so far
    for (const LinkLevel& level : links) {
        const int size = level.ranks == 0 ? ranks : std::min(level.ranks, ranks);
        if (size == joined) continue;
        if (ranks % size != 0 || size % joined != 0) {
            throw ConfigError(cat("links join groups of ", size, " ranks, and ", ranks,
                                  " ranks are no whole number of groups; use a multiple of ", size, " ranks"));
        }
        levels.push_back({.parts = size / joined, .below = joined, .link = level.link});
        joined = size;
    }
    if (joined < ranks || levels.empty()) levels.push_back({.parts = ranks / joined, .below = joined});
    return levels;
}

}  // namespace trireme
