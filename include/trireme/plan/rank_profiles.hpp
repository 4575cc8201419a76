// The profiles of the devices of all ranks of a job.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/plan/profile.hpp"

namespace trireme::plan {

// Profiles of one model and one micro-batch size.
struct RankProfiles {
    std::vector<Profile> kinds;              // one per kind of device, at least one
    std::vector<std::size_t> of_ranks = {};  // per rank: index into `kinds`; 0 for ranks beyond its end

    std::size_t kind_of(int rank) const {
        const auto at = static_cast<std::size_t>(rank);
        return at < of_ranks.size() ? of_ranks[at] : 0;
    }
    const Profile& of(int rank) const { return kinds[kind_of(rank)]; }

    // Returns the link between two ranks: of the measurements at its two ends the one slower for `bytes` bytes.
    layout::Link link(int a, int b, double bytes) const {
        const layout::Link of_a = link_between(of(a).links, a, b);
        const layout::Link of_b = link_between(of(b).links, a, b);
        return of_a.seconds(bytes) < of_b.seconds(bytes) ? of_b : of_a;
    }
};

}  // namespace trireme::plan
