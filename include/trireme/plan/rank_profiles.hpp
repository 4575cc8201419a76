// What was measured on the device of each rank of a job.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/plan/profile.hpp"

namespace trireme::plan {

// Of one model and one micro-batch.
struct RankProfiles {
    std::vector<Profile> kinds;              // of devices: one at least
    std::vector<std::size_t> of_ranks = {};  // each rank's, of these; of ranks beyond it the first

    std::size_t kind_of(int rank) const {
        const auto at = static_cast<std::size_t>(rank);
        return at < of_ranks.size() ? of_ranks[at] : 0;
    }
    const Profile& of(int rank) const { return kinds[kind_of(rank)]; }

    // The link between two ranks. Of the measurements at its two ends the slower one for `bytes` bytes counts.
    layout::Link link(int a, int b, double bytes) const {
        const layout::Link of_a = link_between(of(a).links, a, b);
        const layout::Link of_b = link_between(of(b).links, a, b);
        return of_a.seconds(bytes) < of_b.seconds(bytes) ? of_b : of_a;
    }
};

}  // namespace trireme::plan
