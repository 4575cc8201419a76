#include "trireme/train/departure.hpp"

#include "trireme/base/error.hpp"
#include "trireme/comm/collectives.hpp"

namespace trireme {
namespace {

constexpr Patience short_patience{.stall_seconds = 5};

}  // namespace

Departure::Departure(const Session& session) : group_(session.all_ranks("departure", short_patience)) {}

bool Departure::is_joint() {
    try {
        barrier(*group_);
    } catch (const ResourceError&) {
        return false;  // the stall is the answer
    }
    return true;
}

}  // namespace trireme
