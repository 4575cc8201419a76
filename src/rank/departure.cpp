#include "trireme/rank/departure.hpp"

#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/comm/collectives.hpp"

namespace trireme::rank {
namespace {

constexpr double departure_seconds = 5;  // time limit for all ranks to give up

std::unique_ptr<comm::Communicator> departure_group(const comm::Session& session) {
    auto group =
        session.all_ranks("departure", {.stall_seconds = session.stall_seconds(), .stall_is_answer = true});
    group->give_up_after(departure_seconds);
    return group;
}

}  // namespace

Departure::Departure(const comm::Session& session) : Departure(departure_group(session)) {}

Departure::Departure(std::unique_ptr<comm::Communicator> group) : group_(std::move(group)) {}

bool Departure::is_joint() {
    try {
        barrier(*group_);
    } catch (const ResourceError&) {
        return false;  // the stall means that some ranks have not given up
    }
    return true;
}

}  // namespace trireme::rank
