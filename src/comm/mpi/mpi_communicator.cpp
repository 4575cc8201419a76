#include "comm/mpi/mpi_communicator.hpp"

#include <algorithm>

#include "comm/mpi/check_mpi.hpp"
#include "comm/mpi/groups.hpp"
#include "trireme/device/clock.hpp"

namespace trireme::comm {
namespace {

constexpr unsigned slot_bits = 20;  // low bits of a ticket; the other bits are a serial number
constexpr Communicator::Ticket slot_mask = (Communicator::Ticket{1} << slot_bits) - 1;

MPI_Comm duplicate(MPI_Comm parent, const std::string& name, const device::Patience& patience) {
    check_in_all(parent, name, patience);
    MPI_Comm comm = MPI_COMM_NULL;
    check_mpi(MPI_Comm_dup(parent, &comm), "MPI_Comm_dup");
    return comm;
}

std::uint32_t number_of_tags() {
    int* largest = nullptr;
    int is_known = 0;
    check_mpi(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &largest, &is_known), "MPI_Comm_get_attr");
    constexpr std::uint32_t promised_by_standard = 32768;
    return is_known != 0 ? static_cast<std::uint32_t>(*largest) + 1 : promised_by_standard;
}

bool is_truncated(int code) {
    int error_class = MPI_SUCCESS;
    if (code != MPI_SUCCESS) MPI_Error_class(code, &error_class);
    return error_class == MPI_ERR_TRUNCATE;
}

// Calls start(offset in bytes, count of bytes) for each part of a message; an empty message has one part.
template <class Start>
void for_each_part(std::size_t bytes, std::size_t part_bytes, Start&& start) {
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

MpiCommunicator::MpiCommunicator(MPI_Comm parent, std::string name, device::Patience patience,
                                 std::size_t part_bytes)
    : MpiCommunicator(Own{duplicate(parent, name, patience)}, name, patience, part_bytes) {}

MpiCommunicator::MpiCommunicator(MPI_Comm parent, const std::vector<int>& ranks, std::string name,
                                 device::Patience patience)
    : MpiCommunicator(Own{create_group(parent, ranks, name, patience)}, name, patience, largest_part) {}

MpiCommunicator::MpiCommunicator(Own own, std::string name, device::Patience patience, std::size_t part_bytes)
    : Communicator(patience), comm_(own.comm), name_(std::move(name)), part_bytes_(part_bytes) {
    check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check_mpi(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
    tags_ = number_of_tags();
}

MpiCommunicator::~MpiCommunicator() {
    int is_finalized = 0;
    MPI_Finalized(&is_finalized);
    // With messages in flight the job is about to be aborted, and MPI_Comm_free would wait for their senders.
    if (is_finalized == 0 && free_slots_.size() == slots_.size()) MPI_Comm_free(&comm_);
}

void MpiCommunicator::copy_itself(double bytes_per_second, std::vector<bool> is_near) {
    copied_bytes_per_second_ = bytes_per_second;
    is_near_ = std::move(is_near);
}

void MpiCommunicator::spend_on_copying(int peer, std::size_t bytes) const {
    if (copied_bytes_per_second_ <= 0 || !is_near_[static_cast<std::size_t>(peer)]) return;
    device::spend_seconds(static_cast<double>(bytes) / copied_bytes_per_second_);
}

int MpiCommunicator::tag_of(Label label) const {
    return static_cast<int>(static_cast<std::uint32_t>(label) % tags_);
}

Communicator::Ticket MpiCommunicator::start_send(device::ConstTensor tensor, int peer, Label label) {
    require_contiguous(tensor.is_contiguous());
    Slot& slot = take_slot(peer, label, true, tensor.bytes());
    const auto* bytes = static_cast<const std::byte*>(tensor.data);
    for_each_part(slot.bytes, part_bytes_, [&](std::size_t offset, int count) {
        MPI_Request& request = slot.parts.emplace_back(MPI_REQUEST_NULL);
        check_mpi(MPI_Isend(bytes + offset, count, MPI_BYTE, peer, tag_of(label), comm_, &request),
                  "MPI_Isend");
    });
    traffic_.bytes_sent += slot.bytes;
    return slot.ticket;
}

Communicator::Ticket MpiCommunicator::start_receive(device::Tensor tensor, int peer, Label label) {
    require_contiguous(tensor.is_contiguous());
    Slot& slot = take_slot(peer, label, false, tensor.bytes());
    auto* bytes = static_cast<std::byte*>(tensor.data);
    for_each_part(slot.bytes, part_bytes_, [&](std::size_t offset, int count) {
        MPI_Request& request = slot.parts.emplace_back(MPI_REQUEST_NULL);
        check_mpi(MPI_Irecv(bytes + offset, count, MPI_BYTE, peer, MPI_ANY_TAG, comm_, &request), "MPI_Irecv");
    });
    return slot.ticket;
}

MpiCommunicator::Slot& MpiCommunicator::take_slot(int peer, Label label, bool is_send, std::size_t bytes) {
    if (free_slots_.empty()) {
        if (slots_.size() > slot_mask) throw BugError(cat(slots_.size(), " messages of ", name_, " in flight"));
        free_slots_.push_back(slots_.size());
        slots_.emplace_back();
    }
    const std::size_t index = free_slots_.back();
    free_slots_.pop_back();
    Slot& slot = slots_[index];
    slot.ticket = (next_serial_++ << slot_bits) | index;
    slot.peer = peer;
    slot.label = label;
    slot.is_send = is_send;
    slot.bytes = bytes;
    slot.parts_done = 0;
    slot.parts.clear();
    return slot;
}

void MpiCommunicator::give_back(Slot& slot) {
    free_slots_.push_back(slot.ticket & slot_mask);
    slot.ticket = 0;
}

std::size_t MpiCommunicator::index_of(Ticket ticket) const {
    const std::size_t index = ticket & slot_mask;
    if (index >= slots_.size() || slots_[index].ticket != ticket)
        throw BugError(cat("message ", ticket, " of the ", name_, " group is not in flight"));
    return index;
}

bool MpiCommunicator::is_done(Ticket ticket) {
    Slot& slot = slots_[index_of(ticket)];
    while (slot.parts_done < slot.parts.size()) {
        bool is_part_done = false;
        MPI_Status status{};
        const int code = test(slot.parts[slot.parts_done], is_part_done, status);
        if (code == MPI_SUCCESS && !is_part_done) return false;
        finish_part(slot, {.code = code, .status = status});
    }
    return true;
}

std::optional<int> MpiCommunicator::unasked_sender() {
    int is_there = 0;
    MPI_Status status{};
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &is_there, &status), "MPI_Iprobe");
    return is_there == 0 ? std::nullopt : std::optional(status.MPI_SOURCE);
}

void MpiCommunicator::finish_part(Slot& slot, const Outcome& outcome) {
    const bool is_longer = is_truncated(outcome.code);
    if (!is_longer) check_mpi(outcome.code, "MPI_Test");
    const std::size_t offset = slot.parts_done * part_bytes_;
    if (++slot.parts_done == slot.parts.size()) give_back(slot);
    if (slot.is_send) return;
    int count = 0;
    check_mpi(MPI_Get_count(&outcome.status, MPI_BYTE, &count), "MPI_Get_count");
    spend_on_copying(slot.peer, static_cast<std::size_t>(count));
    const std::size_t end = offset + static_cast<std::size_t>(count);
    const int tag = outcome.status.MPI_TAG;
    if (!is_longer && tag == tag_of(slot.label) && end == std::min(offset + part_bytes_, slot.bytes)) return;
    // MPI libraries do not report the length of a truncated message.
    const std::string length = is_longer ? cat("more than ", slot.bytes) : cat(end);
    const Label arrived = tag == tag_of(slot.label) ? slot.label : tag;
    throw MessageMismatch(
        cat("rank ", rank_, " of the ", name_, " group waited for message ", slot.label, " of ", slot.bytes,
            " bytes from rank ", slot.peer, ", but message ", arrived, " of ", length,
            " bytes came; the two ranks send and receive in different orders"),
        slot.label, arrived);
}

std::string MpiCommunicator::describe(Ticket ticket) const {
    const Slot& slot = slots_[index_of(ticket)];
    return cat("rank ", rank_, slot.is_send ? "'s message to rank " : "'s message from rank ", slot.peer);
}

}  // namespace trireme::comm
