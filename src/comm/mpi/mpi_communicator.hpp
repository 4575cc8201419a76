// A group of ranks with an MPI communicator of its own.
//
// Labels are sent as tags, modulo the number of tags that the library has. Receives accept any tag, so that the
// order alone pairs messages, and a wrong label is detected when its message arrives.
#pragma once

#include <mpi.h>

#include <deque>
#include <vector>

#include "trireme/comm/communicator.hpp"

namespace trireme::comm {

class MpiCommunicator final : public Communicator {
public:
    // MPI counts are int, so larger messages are sent in parts.
    static constexpr std::size_t largest_part = std::size_t{1} << 30;  // bytes

    // Collective over `parent`, which it duplicates. `patience`
    // also limits the wait for ranks that do not call it.
    MpiCommunicator(MPI_Comm parent, std::string name, device::Patience patience,
                    std::size_t part_bytes = largest_part);
    // Collective over `ranks` of `parent` only. They are distinct, in any order, and include this rank.
    MpiCommunicator(MPI_Comm parent, const std::vector<int>& ranks, std::string name,
                    device::Patience patience);
    ~MpiCommunicator() override;
    MpiCommunicator(const MpiCommunicator&) = delete;
    MpiCommunicator& operator=(const MpiCommunicator&) = delete;

    // In a simulation: charges this rank the time to copy what it receives from the ranks of its node.
    // `is_near` is per rank of the group. See copied_bytes_per_second() in groups.hpp.
    void copy_itself(double bytes_per_second, std::vector<bool> is_near);

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    const std::string& name() const override { return name_; }

    Ticket start_send(device::ConstTensor tensor, int peer, Label label) override;
    Ticket start_receive(device::Tensor tensor, int peer, Label label) override;
    bool is_done(Ticket ticket) override;
    std::optional<int> unasked_sender() override;
    void progress() override;  // wall/ranks.cpp or simulated/ranks.cpp

protected:
    void wait_for(Ticket ticket) override;  // wall/ranks.cpp or simulated/ranks.cpp
    std::string describe(Ticket ticket) const override;

private:
    // The state of an in-flight message. Slots are reused, so that starting a message allocates nothing.
    struct Slot {
        Ticket ticket = 0;  // 0 if the slot is free; serial numbers start at 1
        int peer = 0;
        Label label = 0;
        bool is_send = false;
        std::size_t bytes = 0;
        std::size_t parts_done = 0;
        std::vector<MPI_Request> parts = {};
    };
    struct Outcome {
        int code;  // returned by MPI_Test or MPI_Wait
        const MPI_Status& status;
    };
    struct Own {
        MPI_Comm comm;
    };
    struct MessageToItself {
        MPI_Request request;
        double sent;  // in simulated seconds
    };

    MpiCommunicator(Own own, std::string name, device::Patience patience, std::size_t part_bytes);

    int tag_of(Label label) const;
    Slot& take_slot(int peer, Label label, bool is_send, std::size_t bytes);
    void give_back(Slot& slot);
    std::size_t index_of(Ticket ticket) const;  // throws BugError if it is not in flight
    void finish_part(Slot& slot, const Outcome& outcome);
    int test(MPI_Request& request, bool& is_done, MPI_Status& status);  // wall/ranks.cpp or simulated/ranks.cpp
    void spend_on_copying(int peer, std::size_t bytes) const;

    MPI_Comm comm_ = MPI_COMM_NULL;
    std::string name_;
    std::size_t part_bytes_;
    int rank_ = 0;
    int size_ = 1;
    std::uint32_t tags_ = 1;  // number of tags that the library has
    double copied_bytes_per_second_ = 0;
    std::vector<bool> is_near_ = {};  // per rank: on this rank's node; empty unless this rank copies
    Ticket next_serial_ = 1;
    std::vector<Slot> slots_;
    std::vector<std::size_t> free_slots_;
    std::deque<MessageToItself> messages_to_itself_ = {};  // used by simulated/ranks.cpp only
};

}  // namespace trireme::comm
