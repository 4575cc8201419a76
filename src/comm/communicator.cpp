#include "trireme/comm/communicator.hpp"

#include "trireme/device/clock.hpp"

namespace trireme {

void Communicator::wait(std::span<const Ticket> tickets) {
    const double begin = now_seconds();
    for (const Ticket ticket : tickets) wait_for(ticket);
    traffic_.wait_seconds += now_seconds() - begin;
}

void Communicator::progress() {
    if (patience_.lookout != nullptr) patience_.lookout->look(0);
}

void Communicator::wait_for(Ticket ticket) {
    wait_until([&] { return is_done(ticket); }, patience_, [&] { return name_of(ticket); });
}

std::string Communicator::name_of(Ticket ticket) const {
    return cat(describe(ticket), " of the ", name(), " group");
}

}  // namespace trireme
