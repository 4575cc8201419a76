#include "trireme/comm/communicator.hpp"

#include "trireme/device/clock.hpp"

namespace trireme {

void Communicator::wait(std::span<const Ticket> tickets) {
    const double begin = now_seconds();
    for (const Ticket ticket : tickets) {
        wait_until([&] { return is_done(ticket); }, patience_,
                   [&] { return cat(describe(ticket), " of the ", name(), " group"); });
    }
    traffic_.wait_seconds += now_seconds() - begin;
}

}  // namespace trireme
