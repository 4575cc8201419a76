// A group of ranks that send tensors to each other.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "trireme/device/tensor.hpp"
#include "trireme/device/wait.hpp"

namespace trireme {

// What a group has sent, and how long its ranks stood still for it.
struct Traffic {
    double wait_seconds = 0;
    std::uint64_t bytes_sent = 0;
};

// Messages from one rank to another arrive in the order they were sent; there are no wildcards, and lengths are
// known to both sides. A started message needs its memory until it is done.
class Communicator {
public:
    using Ticket = std::uint64_t;  // names a message in flight

    virtual ~Communicator() = default;

    virtual int rank() const = 0;
    virtual int size() const = 0;
    virtual const std::string& name() const = 0;  // "control", "data group"

    // Point-to-point with `peer`. The tensor must be contiguous.
    virtual Ticket start_send(ConstTensor tensor, int peer) = 0;
    virtual Ticket start_receive(Tensor tensor, int peer) = 0;
    virtual bool is_done(Ticket ticket) = 0;  // once true, the ticket is no longer valid

    // Waits for all, counting the time. Throws ResourceError when a message stalls, naming group and peer.
    void wait(std::span<const Ticket> tickets);

    const Traffic& traffic() const { return traffic_; }
    void reset_traffic() { traffic_ = {}; }

protected:
    explicit Communicator(Patience patience) : patience_(patience) {}
    virtual std::string describe(Ticket ticket) const = 0;  // "a message from rank 3"

    Traffic traffic_;

private:
    Patience patience_;
};

// A group of one; sending is a bug.
std::unique_ptr<Communicator> single_rank(std::string name);

}  // namespace trireme
