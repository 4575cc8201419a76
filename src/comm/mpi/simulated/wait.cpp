#include <smpi/smpi.h>

#include <array>
#include <simgrid/Exception.hpp>

#include "comm/mpi/check_mpi.hpp"
#include "comm/mpi/mpi_communicator.hpp"
#include "trireme/device/clock.hpp"

namespace trireme {
namespace {

MPI_Request message_to_itself() {
    MPI_Request received = MPI_REQUEST_NULL;
    check_mpi(MPI_Irecv(nullptr, 0, MPI_BYTE, 0, 0, MPI_COMM_SELF, &received), "MPI_Irecv");
    check_mpi(MPI_Send(nullptr, 0, MPI_BYTE, 0, 0, MPI_COMM_SELF), "MPI_Send");
    return received;
}

}  // namespace

// The simulator moves messages by itself.
void MpiCommunicator::progress() {}

// SimGrid 3.32 keeps each message that MPI_Test found done in a list of its rank, and every later MPI_Wait
// searches that list. MPI_Waitany takes messages off the list. So that it returns at once, its second request
// is that of an empty message which the rank sent to itself before now. Where there is none, MPI_Test has to
// do.
int MpiCommunicator::test(MPI_Request& request, bool& is_done, MPI_Status& status) {
    int code = MPI_SUCCESS;
    if (messages_to_itself_.empty() || messages_to_itself_.front().sent >= now_seconds()) {
        int flag = 0;
        code = MPI_Test(&request, &flag, &status);
        is_done = flag != 0;
    } else {
        std::array requests{request, messages_to_itself_.front().request};
        int index = 0;
        code = MPI_Waitany(requests.size(), requests.data(), &index, &status);
        request = requests[0];
        is_done = index == 0;
        if (!is_done) messages_to_itself_.pop_front();
    }
    if (!is_done) messages_to_itself_.push_back({message_to_itself(), now_seconds()});
    return code;
}

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
        throw ResourceError(cat("waited for ", name_of(ticket), ", and no other rank can continue: a deadlock"));
    }
}

}  // namespace trireme
