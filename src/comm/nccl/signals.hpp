// Signals about messages between GPUs, which travel apart from the messages. Neither side waits for a signal.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "trireme/comm/communicator.hpp"

namespace trireme::comm {

struct Signal {
    // `wanted` comes from the receiver: the message may be sent.
    // `sent` comes from the sender: NCCL's send is in its queue.
    enum class Kind : std::int64_t { wanted, sent };

    Kind kind = Kind::wanted;
    std::int64_t label = 0;  // of the wanted message; also `bytes`
    std::int64_t bytes = 0;

    bool is_of(Label other_label, std::size_t other_bytes) const {
        return label == other_label && bytes == static_cast<std::int64_t>(other_bytes);
    }
};

class Signals {
public:
    explicit Signals(std::unique_ptr<Communicator> group) : group_(std::move(group)) {}

    void tell(int peer, const Signal& signal);
    // Calls `hear` for each signal that has arrived, in the order in which each peer sent them.
    void listen(const std::function<void(int peer, const Signal& signal)>& hear);

private:
    struct Outgoing {
        Signal signal;
        Communicator::Ticket ticket;
    };

    std::unique_ptr<Communicator> group_;
    std::deque<Outgoing> outgoing_;  // signals whose memory MPI may still read
};

}  // namespace trireme::comm
