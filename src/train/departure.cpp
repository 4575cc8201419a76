#include "trireme/train/departure.hpp"

#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/comm/collectives.hpp"

namespace trireme {
namespace {

constexpr Patience short_patience{.stall_seconds = 5, .stall_is_answer = true};

}  // namespace

Departure::Departure(const Session& session) : Departure(session.all_ranks("departure", short_patience)) {}

Departure::Departure(std::unique_ptr<Communicator> group) : group_(std::move(group)) {}

bool Departure::is_joint() {
    try {
        barrier(*group_);
    } catch (const ResourceError&) {
        return false;  // the stall is the answer
    }
    return true;
}

}  // namespace trireme
