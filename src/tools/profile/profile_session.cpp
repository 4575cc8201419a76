#include "trireme/tools/profile.hpp"

namespace trireme {

// Ranks may be slow to come, as where others have more to measure.
void profile(const ProfileConfig& config, const ProfileSubject& subject, const Session& session,
             std::ostream& out) {
    const auto all = session.all_ranks("profile", {});
    constexpr double an_hour = 3600;
    all->give_up_after(an_hour);
    profile(config, subject, {.all = *all, .nodes = session.nodes()}, out);
}

}  // namespace trireme
