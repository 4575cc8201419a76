// The interface of a group of ranks that send tensors to each other.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "trireme/base/error.hpp"
#include "trireme/device/tensor.hpp"
#include "trireme/device/wait.hpp"

namespace trireme::comm {

// Bytes that this rank has sent in a group, and seconds that it has waited.
struct Traffic {
    double wait_seconds = 0;
    std::uint64_t bytes_sent = 0;
};

// The identity of a message. Sender and receiver both state it, so that a message
// out of order or of the wrong length is detected, if the library transmits
// labels. Unique among the in-flight messages between two ranks of a group.
using Label = std::int32_t;

// Thrown when a message arrives that is not the expected one.
class MessageMismatch : public BugError {
public:
    MessageMismatch(const std::string& what, Label expected_label, Label arrived_label)
        : BugError(what), expected(expected_label), arrived(arrived_label) {}

    Label expected;
    Label arrived;  // equal to `expected` if only the length differs
};

// Messages from one rank to another arrive in the order they were sent. There are no wildcards, and both sides
// know the lengths. The memory of a message must stay valid until the message is done.
class Communicator {
public:
    using Ticket = std::uint64_t;  // handle of a pending request

    virtual ~Communicator() = default;

    virtual int rank() const = 0;
    virtual int size() const = 0;
    virtual const std::string& name() const = 0;     // "control", "data group"
    virtual bool is_ghost() const { return false; }  // true if no values arrive; then tensors may be ghosts

    // Point-to-point with `peer`. The tensor must be contiguous.
    virtual Ticket start_send(device::ConstTensor tensor, int peer, Label label = 0) = 0;
    virtual Ticket start_receive(device::Tensor tensor, int peer, Label label = 0) = 0;
    // Once this returns true, the ticket is no longer valid. Throws MessageMismatch.
    virtual bool is_done(Ticket ticket) = 0;
    // Returns a rank whose message has arrived without a posted receive; empty if there is none.
    virtual std::optional<int> unasked_sender() { return std::nullopt; }
    // Lets in-flight messages progress. Called now and then during long computations.
    virtual void progress();

    // Waits for all requests and counts the time in traffic(). Throws
    // ResourceError if a message stalls, naming group and peer.
    void wait(std::span<const Ticket> tickets);

    // For a rank whose only task is to wait: the other ranks detect stalls.
    void never_give_up() { give_up_after(std::numeric_limits<double>::infinity()); }
    void give_up_after(double stall_seconds) { patience_.stall_seconds = stall_seconds; }

    const Traffic& traffic() const { return traffic_; }
    void reset_traffic() { traffic_ = {}; }

protected:
    explicit Communicator(device::Patience patience) : patience_(patience) {}
    virtual std::string describe(Ticket ticket) const = 0;  // "a message from rank 3"
    std::string name_of(Ticket ticket) const;               // "a message from rank 3 of the data group"
    virtual void wait_for(Ticket ticket);                   // waits for one message
    const device::Patience& patience() const { return patience_; }

    Traffic traffic_;

private:
    device::Patience patience_;
};

// Returns a group of one rank. Sending throws BugError.
std::unique_ptr<Communicator> single_rank(std::string name);

// Returns rank `rank` of a group of `size` whose other ranks do not exist. Messages are done at once and carry
// nothing. For dry runs with ghost tensors.
std::unique_ptr<Communicator> ghost_group(std::string name, int rank, int size);

}  // namespace trireme::comm
