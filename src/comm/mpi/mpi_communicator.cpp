#include "comm/mpi/mpi_communicator.hpp"

#include <algorithm>

#include "comm/mpi/check_mpi.hpp"

namespace trireme {
namespace {

constexpr std::size_t part_bytes = std::size_t{1} << 30;  // well below what an int counts
constexpr int tag = 0;                                    // order alone pairs messages

// Calls start(offset in bytes, count of bytes) for each part of a message; an empty message has one part.
template <class Start>
void for_each_part(std::size_t bytes, Start&& start) {
    std::size_t offset = 0;
    do {
        const std::size_t count = std::min(part_bytes, bytes - offset);
        start(offset, static_cast<int>(count));
        offset += count;
    } while (offset < bytes);
}

void require_contiguous(bool is_contiguous) {
    if (!is_contiguous) throw BugError("a message must be contiguous");
}

}  // namespace

MpiCommunicator::MpiCommunicator(MPI_Comm parent, std::string name, Patience patience)
    : Communicator(patience), name_(std::move(name)) {
    check_mpi(MPI_Comm_dup(parent, &comm_), "MPI_Comm_dup");
    check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check_mpi(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
}

MpiCommunicator::~MpiCommunicator() {
    int is_finalized = 0;
    MPI_Finalized(&is_finalized);
    // With messages in flight the job is about to be aborted, and to free would be to wait for their senders.
    if (is_finalized == 0 && in_flight_.empty()) MPI_Comm_free(&comm_);
}

Communicator::Ticket MpiCommunicator::start_send(ConstTensor tensor, int peer) {
    require_contiguous(tensor.is_contiguous());
    Message message{.peer = peer, .is_send = true, .parts = {}};
    const auto* bytes = static_cast<const std::byte*>(tensor.data);
    for_each_part(tensor.bytes(), [&](std::size_t offset, int count) {
        MPI_Request& request = message.parts.emplace_back(MPI_REQUEST_NULL);
        check_mpi(MPI_Isend(bytes + offset, count, MPI_BYTE, peer, tag, comm_, &request), "MPI_Isend");
    });
    traffic_.bytes_sent += tensor.bytes();
    return remember(std::move(message));
}

Communicator::Ticket MpiCommunicator::start_receive(Tensor tensor, int peer) {
    require_contiguous(tensor.is_contiguous());
    Message message{.peer = peer, .is_send = false, .parts = {}};
    auto* bytes = static_cast<std::byte*>(tensor.data);
    for_each_part(tensor.bytes(), [&](std::size_t offset, int count) {
        MPI_Request& request = message.parts.emplace_back(MPI_REQUEST_NULL);
        check_mpi(MPI_Irecv(bytes + offset, count, MPI_BYTE, peer, tag, comm_, &request), "MPI_Irecv");
    });
    return remember(std::move(message));
}

Communicator::Ticket MpiCommunicator::remember(Message message) {
    in_flight_.emplace(next_ticket_, std::move(message));
    return next_ticket_++;
}

bool MpiCommunicator::is_done(Ticket ticket) {
    const auto message = in_flight_.find(ticket);
    if (message == in_flight_.end())
        throw BugError(cat("message ", ticket, " of ", name_, " is not in flight"));
    auto& parts = message->second.parts;
    int is_done = 0;
    check_mpi(MPI_Testall(static_cast<int>(parts.size()), parts.data(), &is_done, MPI_STATUSES_IGNORE),
              "MPI_Testall");
    if (is_done == 0) return false;
    in_flight_.erase(message);
    return true;
}

std::string MpiCommunicator::describe(Ticket ticket) const {
    const Message& message = in_flight_.at(ticket);
    return cat("rank ", rank_, message.is_send ? "'s message to rank " : "'s message from rank ", message.peer);
}

}  // namespace trireme
