// The profiles of the devices that the ranks of a job use.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/plan/profile.hpp"

namespace trireme::plan {

// Profiles of the same model with the same micro-batch size.
struct RankProfiles {
    std::vector<Profile> kinds;                  // one per kind of device, at least one
    std::vector<std::size_t> kind_of_rank = {};  // per rank: index into `kinds`; 0 for ranks without an entry

    std::size_t find_kind(int rank) const {
        const auto index = static_cast<std::size_t>(rank);
        return index < kind_of_rank.size() ? kind_of_rank[index] : 0;
    }
    const Profile& find_profile(int rank) const { return kinds[find_kind(rank)]; }

    // Returns the link between ranks `a` and `b`. If the profiles of `a` and `b` have different links, returns
    // the one that is slower for a message of `bytes` bytes.
    layout::Link find_slower_link(int a, int b, double bytes) const {
        const layout::Link link_of_a = find_link_between(find_profile(a).links, a, b);
        const layout::Link link_of_b = find_link_between(find_profile(b).links, a, b);
        return link_of_a.predict_seconds(bytes) < link_of_b.predict_seconds(bytes) ? link_of_b : link_of_a;
    }
};

}  // namespace trireme::plan
