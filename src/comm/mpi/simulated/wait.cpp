#include <smpi/smpi.h>

#include <simgrid/Exception.hpp>

#include "comm/mpi/mpi_communicator.hpp"

namespace trireme {

// The simulator moves messages by itself.
void MpiCommunicator::progress() {}

// Blocks, for to ask again and again would take time that the message does not need. That a message never comes
// the simulator finds by itself, and then ends every rank; where a stall is an answer, the rank asks instead.
void MpiCommunicator::wait_for(Ticket ticket) {
    const auto has_come = [&] {
        constexpr unsigned nap_us = 1000;
        const bool is_here = is_done(ticket);
        if (!is_here) smpi_usleep(nap_us);
        return is_here;
    };
    if (patience().stall_is_answer) return wait_until(has_come, patience(), [&] { return name_of(ticket); });
    Slot& slot = slots_[index_of(ticket)];
    try {
        while (slot.parts_done < slot.parts.size()) {
            MPI_Status status{};
            const int code = MPI_Wait(&slot.parts[slot.parts_done], &status);
            finish_part(slot, {.code = code, .status = status});
        }
    } catch (const simgrid::ForcefulKillException&) {
        throw ResourceError(cat("waited for ", name_of(ticket), ", and no other rank can go on: a deadlock"));
    }
}

}  // namespace trireme
