// A group of ranks that send tensors to each other.
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

// What a group has sent, and how long its ranks stood still for it.
struct Traffic {
    double wait_seconds = 0;
    std::uint64_t bytes_sent = 0;
};

// What a message is, so that one that comes out of order, or of another length than was waited for, is found:
// both sides say it, where the library carries it. Unique among the messages in flight between two ranks of a
// group.
using Label = std::int32_t;

// A message that is not the one that was waited for.
class MessageMismatch : public BugError {
public:
    MessageMismatch(const std::string& what, Label expected_label, Label arrived_label)
        : BugError(what), expected(expected_label), arrived(arrived_label) {}

    Label expected;
    Label arrived;  // equal to `expected` where only the length differs
};

// Messages from one rank to another arrive in the order they were sent; there are no wildcards, and lengths are
// known to both sides. A started message needs its memory until it is done.
class Communicator {
public:
    using Ticket = std::uint64_t;  // names a message in flight

    virtual ~Communicator() = default;

    virtual int rank() const = 0;
    virtual int size() const = 0;
    virtual const std::string& name() const = 0;     // "control", "data group"
    virtual bool is_ghost() const { return false; }  // no values come: tensors may be ghosts

    // Point-to-point with `peer`. The tensor must be contiguous.
    virtual Ticket start_send(device::ConstTensor tensor, int peer, Label label = 0) = 0;
    virtual Ticket start_receive(device::Tensor tensor, int peer, Label label = 0) = 0;
    // Once true, the ticket is no longer valid. Throws MessageMismatch.
    virtual bool is_done(Ticket ticket) = 0;
    // A rank whose message has come while no receive was there for it; none: there is no such message.
    virtual std::optional<int> unasked_sender() { return std::nullopt; }
    // Messages in flight go on while nobody waits for them: called now and then during long computations.
    virtual void progress();

    // Waits for all, counting the time. Throws ResourceError when a message stalls, naming group and peer.
    void wait(std::span<const Ticket> tickets);

    // For a rank that has nothing to do but to wait: a stall is for the others to notice.
    void never_give_up() { give_up_after(std::numeric_limits<double>::infinity()); }
    void give_up_after(double stall_seconds) { patience_.stall_seconds = stall_seconds; }

    const Traffic& traffic() const { return traffic_; }
    void reset_traffic() { traffic_ = {}; }

protected:
    explicit Communicator(device::Patience patience) : patience_(patience) {}
    virtual std::string describe(Ticket ticket) const = 0;  // "a message from rank 3"
    std::string name_of(Ticket ticket) const;               // "a message from rank 3 of the data group"
    virtual void wait_for(Ticket ticket);                   // as wait(), for one message
    const device::Patience& patience() const { return patience_; }

    Traffic traffic_;

private:
    device::Patience patience_;
};

// A group of one; sending is a bug.
std::unique_ptr<Communicator> single_rank(std::string name);

// Rank `rank` of a group of `size` that nobody else is in: messages are done at once and carry nothing. For
// walks with ghost tensors.
std::unique_ptr<Communicator> ghost_group(std::string name, int rank, int size);

}  // namespace trireme::comm
