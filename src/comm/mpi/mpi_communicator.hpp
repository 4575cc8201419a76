// A group of ranks with an MPI communicator of its own.
//
// Labels are sent as MPI tags, modulo the number of tags that the library has. Receives accept any tag: sends
// and receives are paired by their order alone, and a message with a wrong label is detected when it arrives.
#pragma once

#include <mpi.h>

#include <deque>
#include <vector>

#include "trireme/comm/communicator.hpp"

namespace trireme::comm {

class MpiCommunicator final : public Communicator {
public:
    // MPI counts are int, so a larger message is sent as several packets of at most this size.
    static constexpr std::size_t max_packet_bytes = std::size_t{1} << 30;  // bytes

    // Collective over the ranks of `parent`. Duplicates `parent`. `wait_policy` limits not only the waits for
    // messages, but also the wait for ranks that do not make this call.
    MpiCommunicator(MPI_Comm parent, std::string name, device::WaitPolicy wait_policy,
                    std::size_t packet_bytes = max_packet_bytes);
    // Collective over `ranks` of `parent` only. The ranks are distinct, in any order, and include this rank.
    MpiCommunicator(MPI_Comm parent, const std::vector<int>& ranks, std::string name,
                    device::WaitPolicy wait_policy);
    ~MpiCommunicator() override;
    MpiCommunicator(const MpiCommunicator&) = delete;
    MpiCommunicator& operator=(const MpiCommunicator&) = delete;

    // For simulations: from now on, each message that this rank receives from a rank of its node advances the
    // simulated time by the time of copying the message. shares_node[r] is true if rank r of the group is on
    // this rank's node. `bytes_per_second` is find_copy_bandwidth().
    void charge_node_copies(double bytes_per_second, std::vector<bool> shares_node);

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    const std::string& name() const override { return name_; }

    RequestId start_send(device::ConstTensor tensor, int peer, Label label) override;
    RequestId start_receive(device::Tensor tensor, int peer, Label label) override;
    bool is_done(RequestId id) override;
    void remove_done(std::vector<RequestId>& ids) override;  // wall/ranks.cpp or simulated/ranks.cpp
    std::optional<int> probe_sender() override;
    void progress() override;  // wall/ranks.cpp or simulated/ranks.cpp

protected:
    void wait_for(RequestId id) override;  // wall/ranks.cpp or simulated/ranks.cpp
    std::string describe(RequestId id) const override;

private:
    // The low bits of a request id are the index of a slot; the other bits are a serial number.
    static constexpr unsigned slot_bits = 20;
    static constexpr RequestId slot_mask = (RequestId{1} << slot_bits) - 1;

    // The state of an in-flight message. Slots are reused, so that starting a message allocates nothing.
    struct Slot {
        RequestId id = 0;  // 0 if the slot is free; the ids of messages are never 0
        int peer = 0;
        Label label = 0;
        bool is_send = false;
        std::size_t bytes = 0;
        std::size_t finished_requests = 0;       // number of finished elements of `requests`
        std::vector<MPI_Request> requests = {};  // one per packet
    };
    struct Outcome {
        int code;  // error code of MPI_Test, MPI_Wait or MPI_Waitany
        const MPI_Status& status;
    };
    // Marks the constructor that takes over a communicator.
    struct OwnedComm {
        MPI_Comm comm;
    };
    // An empty message that a simulated rank has sent to itself. See test() in simulated/ranks.cpp.
    struct MessageToItself {
        MPI_Request request;
        double send_time;  // in simulated seconds
    };

    MpiCommunicator(OwnedComm owned, std::string name, device::WaitPolicy wait_policy,
                    std::size_t packet_bytes);

    int make_tag(Label label) const;
    Slot& take_slot(int peer, Label label, bool is_send, std::size_t bytes);
    void give_back(Slot& slot);
    // Returns the index of the slot of a request. Throws BugError if the request is not in flight.
    std::size_t find_index(RequestId id) const;
    // Ends the first unfinished request of the message. Throws MessageMismatch if another message has arrived.
    void finish_request(Slot& slot, const Outcome& outcome);
    // Calls MPI_Test or its equivalent, and returns its error code.
    int test(MPI_Request& request, bool& is_done, MPI_Status& status);  // wall/ranks.cpp or simulated/ranks.cpp
    // Used by simulated/ranks.cpp only.
    bool has_earlier_message_to_itself() const;
    void send_message_to_itself();
    // Ends one of the messages `ids` that is done, and returns its index; ids.size() if no message is done.
    std::size_t finish_one(std::span<const RequestId> ids);
    void spend_copy_time(int peer, std::size_t bytes) const;

    MPI_Comm comm_ = MPI_COMM_NULL;
    std::string name_;
    std::size_t packet_bytes_;
    int rank_ = 0;
    int size_ = 1;
    std::uint32_t tag_count_ = 1;  // number of tags that the library has
    double copy_bandwidth_ = 0;    // bytes per second; 0 if copies take no simulated time
    // Element r is true if rank r is on this rank's node. Empty unless charge_node_copies() was called.
    std::vector<bool> shares_node_ = {};
    RequestId next_serial_ = 1;
    std::vector<Slot> slots_;
    std::vector<std::size_t> free_slots_;
    std::deque<MessageToItself> messages_to_itself_ = {};  // oldest first; used by simulated/ranks.cpp only
};

}  // namespace trireme::comm
