// The interface of a group of ranks that send tensors to each other.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trireme/base/error.hpp"
#include "trireme/device/clocked_device.hpp"
#include "trireme/device/tensor.hpp"
#include "trireme/device/wait.hpp"

namespace trireme::comm {

// The messages and bytes that this rank has sent in a group, and the seconds for which this rank has waited for
// messages of the group. `wait_joules` is the energy of the meter during these waits.
struct Traffic {
    double wait_seconds = 0;
    double wait_joules = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t messages_sent = 0;
};

// The identity of a message, like an MPI tag. Sender and receiver both pass the label, so that a message out of
// order is detected if the transport carries labels. To detect all such messages, callers pass labels that are
// unique among the in-flight messages between two ranks of a group. Other callers pass 0.
using Label = std::int32_t;

// Thrown when a message arrives that is not the expected one.
class MessageMismatch : public BugError {
public:
    MessageMismatch(const std::string& what, Label expected_label, Label arrived_label)
        : BugError(what), expected(expected_label), arrived(arrived_label) {}

    Label expected;
    Label arrived;  // equal to `expected` if only the length differs
};

// A group of ranks that exchange point-to-point messages. Messages from one rank to another arrive in the order
// in which they were sent. A receive names the sender and the exact length of its message. The memory of a
// message must stay valid until is_done() has returned true, or wait() has returned.
class Communicator {
public:
    using RequestId = std::uint64_t;  // handle of a pending request

    virtual ~Communicator() = default;

    virtual int rank() const = 0;
    virtual int size() const = 0;
    virtual const std::string& name() const = 0;  // for example "data"
    // Returns true if messages carry no values. Then tensors may be ghosts, which have a shape but no memory.
    virtual bool is_ghost() const { return false; }

    // Start a message to or from rank `peer` of the group, and return without waiting. The tensor must be
    // contiguous.
    virtual RequestId start_send(device::ConstTensor tensor, int peer, Label label = 0) = 0;
    virtual RequestId start_receive(device::Tensor tensor, int peer, Label label = 0) = 0;
    // Returns true if the message has been sent or received. `id` is then no longer valid. Throws
    // MessageMismatch if another message has arrived in place of the expected one.
    virtual bool is_done(RequestId id) = 0;
    // Removes from `ids` the messages for which is_done() returns true. Calls is_done(), or its equivalent, in
    // the order of `ids`.
    virtual void remove_done(std::vector<RequestId>& ids);
    // Returns a rank whose message has arrived without a posted receive; empty if there is none.
    virtual std::optional<int> probe_sender() { return std::nullopt; }
    // Makes the library progress in-flight messages. Called now and then during long computations.
    virtual void progress();

    // Waits for all requests, and adds the duration to Traffic::wait_seconds. If a message takes longer than
    // WaitPolicy::stall_seconds, calls the observer of the WaitPolicy, or throws ResourceError if there is no
    // observer. The message of the stall names the group and the peer.
    void wait(std::span<const RequestId> ids);

    // Called on a rank whose only task is to wait. The other ranks detect the stall of a job.
    void disable_stall_limit() { set_stall_seconds(std::numeric_limits<double>::infinity()); }
    void set_stall_seconds(double stall_seconds) { wait_policy_.stall_seconds = stall_seconds; }

    // Sets the device whose energy waits consume; null if it is not measured. It must outlive the group.
    void set_meter(const device::ClockedDevice* meter) { meter_ = meter; }

    const Traffic& traffic() const { return traffic_; }
    void reset_traffic() { traffic_ = {}; }

protected:
    explicit Communicator(device::WaitPolicy wait_policy) : wait_policy_(wait_policy) {}
    // Return a text such as "rank 0's message from rank 3"; to_string() appends " of the data group".
    virtual std::string describe(RequestId id) const = 0;
    std::string to_string(RequestId id) const;
    virtual void wait_for(RequestId id);  // waits for one message
    const device::WaitPolicy& wait_policy() const { return wait_policy_; }

    Traffic traffic_;

private:
    device::WaitPolicy wait_policy_;
    const device::ClockedDevice* meter_ = nullptr;
};

// Returns a group of one rank. Sending throws BugError.
std::unique_ptr<Communicator> make_single_rank_group(std::string name);

// Returns a group of `size` ranks as rank `rank` sees it; the other ranks do not exist. Messages are done at
// once and carry no values. Dry runs with ghost tensors use such groups.
std::unique_ptr<Communicator> make_ghost_group(std::string name, int rank, int size);

}  // namespace trireme::comm
