#include "trireme/layout/links.hpp"

namespace trireme::layout {

Link find_link_between(const std::vector<LinkLevel>& levels, int a, int b) {
    for (const LinkLevel& level : levels) {
        if (level.ranks == 0 || a / level.ranks == b / level.ranks) return level.link;
    }
    return {};
}

double predict_all_reduce_seconds(const Link& link, int ranks, double bytes) {
    return 2.0 * (ranks - 1) * link.predict_seconds(bytes / ranks);
}

}  // namespace trireme::layout
