#include "comm/mpi/mpi_communicator.hpp"

#include <algorithm>

#include "comm/mpi/check_mpi.hpp"
#include "comm/mpi/groups.hpp"
#include "trireme/device/clock.hpp"

namespace trireme::comm {
namespace {

MPI_Comm duplicate_comm(MPI_Comm parent, const std::string& name, const device::WaitPolicy& wait_policy) {
    wait_for_all_ranks(parent, name, wait_policy);
    MPI_Comm comm = MPI_COMM_NULL;
    check_mpi(MPI_Comm_dup(parent, &comm), "MPI_Comm_dup");
    return comm;
}

std::uint32_t find_tag_count() {
    int* max_tag = nullptr;
    int is_set = 0;
    check_mpi(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &max_tag, &is_set), "MPI_Comm_get_attr");
    constexpr std::uint32_t guaranteed_tags = 32768;  // by the MPI standard
    return is_set != 0 ? static_cast<std::uint32_t>(*max_tag) + 1 : guaranteed_tags;
}

bool is_truncated(int code) {
    int error_class = MPI_SUCCESS;
    if (code != MPI_SUCCESS) MPI_Error_class(code, &error_class);
    return error_class == MPI_ERR_TRUNCATE;
}

// Calls start(offset, count), both in bytes, for each packet of a message; an empty message has one packet.
template <class Start>
void for_each_packet(std::size_t bytes, std::size_t packet_bytes, Start&& start) {
    std::size_t offset = 0;
    do {
        const std::size_t count = std::min(packet_bytes, bytes - offset);
        start(offset, static_cast<int>(count));
        offset += count;
    } while (offset < bytes);
}

void require_contiguous(bool is_contiguous) {
    if (!is_contiguous) throw BugError("a message must be contiguous");
}

}  // namespace

MpiCommunicator::MpiCommunicator(MPI_Comm parent, std::string name, device::WaitPolicy wait_policy,
                                 std::size_t packet_bytes)
    : MpiCommunicator(OwnedComm{duplicate_comm(parent, name, wait_policy)}, name, wait_policy, packet_bytes) {}

MpiCommunicator::MpiCommunicator(MPI_Comm parent, const std::vector<int>& ranks, std::string name,
                                 device::WaitPolicy wait_policy)
    : MpiCommunicator(OwnedComm{create_group(parent, ranks, name, wait_policy)}, name, wait_policy,
                      max_packet_bytes) {}

MpiCommunicator::MpiCommunicator(OwnedComm owned, std::string name, device::WaitPolicy wait_policy,
                                 std::size_t packet_bytes)
    : Communicator(wait_policy), comm_(owned.comm), name_(std::move(name)), packet_bytes_(packet_bytes) {
    check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check_mpi(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
    tag_count_ = find_tag_count();
}

MpiCommunicator::~MpiCommunicator() {
    int is_finalized = 0;
    MPI_Finalized(&is_finalized);
    // If messages are in flight, the job is about to be aborted, and MPI_Comm_free would wait for them.
    if (is_finalized != 0 || free_slots_.size() != slots_.size()) return;
    // SimGrid lists the receives for which a rank has not waited. Every later MPI_Wait searches this list.
    for (MessageToItself& message : messages_to_itself_) MPI_Wait(&message.request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm_);
}

void MpiCommunicator::charge_node_copies(double bytes_per_second, std::vector<bool> shares_node) {
    copy_bandwidth_ = bytes_per_second;
    shares_node_ = std::move(shares_node);
}

void MpiCommunicator::spend_copy_time(int peer, std::size_t bytes) const {
    if (copy_bandwidth_ <= 0 || !shares_node_[static_cast<std::size_t>(peer)]) return;
    device::busy_for(static_cast<double>(bytes) / copy_bandwidth_);
}

int MpiCommunicator::make_tag(Label label) const {
    return static_cast<int>(static_cast<std::uint32_t>(label) % tag_count_);
}

Communicator::RequestId MpiCommunicator::start_send(device::ConstTensor tensor, int peer, Label label) {
    require_contiguous(tensor.is_contiguous());
    Slot& slot = take_slot(peer, label, true, tensor.bytes());
    const auto* bytes = static_cast<const std::byte*>(tensor.data);
    for_each_packet(slot.bytes, packet_bytes_, [&](std::size_t offset, int count) {
        MPI_Request& request = slot.requests.emplace_back(MPI_REQUEST_NULL);
        check_mpi(MPI_Isend(bytes + offset, count, MPI_BYTE, peer, make_tag(label), comm_, &request),
                  "MPI_Isend");
    });
    traffic_.bytes_sent += slot.bytes;
    ++traffic_.messages_sent;
    return slot.id;
}

Communicator::RequestId MpiCommunicator::start_receive(device::Tensor tensor, int peer, Label label) {
    require_contiguous(tensor.is_contiguous());
    Slot& slot = take_slot(peer, label, false, tensor.bytes());
    auto* bytes = static_cast<std::byte*>(tensor.data);
    for_each_packet(slot.bytes, packet_bytes_, [&](std::size_t offset, int count) {
        MPI_Request& request = slot.requests.emplace_back(MPI_REQUEST_NULL);
        check_mpi(MPI_Irecv(bytes + offset, count, MPI_BYTE, peer, MPI_ANY_TAG, comm_, &request), "MPI_Irecv");
    });
    return slot.id;
}

MpiCommunicator::Slot& MpiCommunicator::take_slot(int peer, Label label, bool is_send, std::size_t bytes) {
    if (free_slots_.empty()) {
        if (slots_.size() > slot_mask) {
            throw BugError(cat("the ", name_, " group already has ", slots_.size(),
                               " messages in flight, which is the maximum"));
        }
        free_slots_.push_back(slots_.size());
        slots_.emplace_back();
    }
    const std::size_t index = free_slots_.back();
    free_slots_.pop_back();
    Slot& slot = slots_[index];
    slot.id = (next_serial_++ << slot_bits) | index;
    slot.peer = peer;
    slot.label = label;
    slot.is_send = is_send;
    slot.bytes = bytes;
    slot.finished_requests = 0;
    slot.requests.clear();
    return slot;
}

void MpiCommunicator::give_back(Slot& slot) {
    free_slots_.push_back(slot.id & slot_mask);
    slot.id = 0;
}

std::size_t MpiCommunicator::find_index(RequestId id) const {
    const std::size_t index = id & slot_mask;
    if (index >= slots_.size() || slots_[index].id != id)
        throw BugError(cat("message ", id, " of the ", name_, " group is not in flight"));
    return index;
}

bool MpiCommunicator::is_done(RequestId id) {
    Slot& slot = slots_[find_index(id)];
    while (slot.finished_requests < slot.requests.size()) {
        bool is_request_done = false;
        MPI_Status status{};
        const int code = test(slot.requests[slot.finished_requests], is_request_done, status);
        if (code == MPI_SUCCESS && !is_request_done) return false;
        finish_request(slot, {.code = code, .status = status});
    }
    return true;
}

std::optional<int> MpiCommunicator::probe_sender() {
    int has_message = 0;
    MPI_Status status{};
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &has_message, &status), "MPI_Iprobe");
    return has_message == 0 ? std::nullopt : std::optional(status.MPI_SOURCE);
}

void MpiCommunicator::finish_request(Slot& slot, const Outcome& outcome) {
    const bool is_truncated_message = is_truncated(outcome.code);
    if (!is_truncated_message) check_mpi(outcome.code, "MPI_Test");
    const std::size_t offset = slot.finished_requests * packet_bytes_;
    if (++slot.finished_requests == slot.requests.size()) give_back(slot);
    if (slot.is_send) return;
    int count = 0;
    check_mpi(MPI_Get_count(&outcome.status, MPI_BYTE, &count), "MPI_Get_count");
    spend_copy_time(slot.peer, static_cast<std::size_t>(count));
    const std::size_t end = offset + static_cast<std::size_t>(count);
    const int tag = outcome.status.MPI_TAG;
    if (!is_truncated_message && tag == make_tag(slot.label) &&
        end == std::min(offset + packet_bytes_, slot.bytes))
        return;
    // MPI libraries do not report the length of a truncated message.
    const std::string length = is_truncated_message ? cat("more than ", slot.bytes) : cat(end);
    // A wrong tag is the label of the arrived message modulo the number of tags; no more of the label is known.
    const Label arrived = tag == make_tag(slot.label) ? slot.label : tag;
    throw MessageMismatch(
        cat("rank ", rank_, " of the ", name_, " group waited for message ", slot.label, " of ", slot.bytes,
            " bytes from rank ", slot.peer, ", but message ", arrived, " of ", length,
            " bytes came; the two ranks send and receive in different orders"),
        slot.label, arrived);
}

std::string MpiCommunicator::describe(RequestId id) const {
    const Slot& slot = slots_[find_index(id)];
    return cat("rank ", rank_, slot.is_send ? "'s message to rank " : "'s message from rank ", slot.peer);
}

}  // namespace trireme::comm
