#include "trireme/rank/departure.hpp"

#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/comm/collectives.hpp"

namespace trireme::rank {
namespace {

constexpr double departure_seconds = 5;  // how long confirm_joint_exit() waits for other ranks

std::unique_ptr<comm::Communicator> make_departure_group(const comm::Session& session) {
    auto group = session.make_group_of_all_ranks(
        "departure", {.stall_seconds = session.stall_seconds(), .expects_stall = true});
    group->set_stall_seconds(departure_seconds);  // making the group may take longer
    return group;
}

}  // namespace

Departure::Departure(const comm::Session& session) : Departure(make_departure_group(session)) {}

Departure::Departure(std::unique_ptr<comm::Communicator> group) : group_(std::move(group)) {}

bool Departure::confirm_joint_exit() {
    try {
        barrier(*group_);
    } catch (const ResourceError&) {
        return false;  // the barrier stalled: some ranks have not called this function
    }
    return true;
}

}  // namespace trireme::rank
