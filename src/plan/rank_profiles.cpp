#include "trireme/plan/rank_profiles.hpp"

namespace trireme {

Link RankProfiles::link(int a, int b, double bytes) const {
    const Link of_a = link_between(of(a).links, a, b);
    const Link of_b = link_between(of(b).links, a, b);
    return of_a.seconds(bytes) < of_b.seconds(bytes) ? of_b : of_a;
}

}  // namespace trireme
