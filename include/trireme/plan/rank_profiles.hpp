// What was measured on the device of each rank of a job.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/plan/profile.hpp"

namespace trireme {

// Of one model and one micro-batch.
struct RankProfiles {
    std::vector<Profile> kinds;              // of devices: one at least
    std::vector<std::size_t> of_ranks = {};  // each rank's, of these; of ranks beyond it the first

    std::size_t kind_of(int rank) const {
        const auto at = static_cast<std::size_t>(rank);
        return at < of_ranks.size() ? of_ranks[at] : 0;
    }
    const Profile& of(int rank) const { return kinds[kind_of(rank)]; }

    // Between two ranks: the one that is slower for so many bytes, of those that were measured at its ends.
    Link link(int a, int b, double bytes) const;
};

}  // namespace trireme
