// Short MPI messages about the state of NCCL messages (see nccl_group.cpp). No rank blocks to wait for a
// signal.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "trireme/comm/communicator.hpp"

namespace trireme::comm {

struct Signal {
    // The receiver of a message sends `wanted` when it is ready for the message. The sender sends `sent` when
    // NCCL's send is in the queue of the sender's GPU.
    enum class Kind : std::int64_t { wanted, sent };

    Kind kind = Kind::wanted;
    std::int64_t label = 0;  // label and bytes of the wanted message; 0 in `sent`
    std::int64_t bytes = 0;

    bool matches(Label other_label, std::size_t other_bytes) const {
        return label == other_label && bytes == static_cast<std::int64_t>(other_bytes);
    }
};

class Signals {
public:
    explicit Signals(std::unique_ptr<Communicator> group) : group_(std::move(group)) {}

    void send(int peer, const Signal& signal);
    // Calls handle(peer, signal) for each signal that has arrived. Signals of one peer are handled in the order
    // in which it sent them.
    void receive_all(const std::function<void(int peer, const Signal& signal)>& handle);

private:
    struct SentSignal {
        Signal signal;
        Communicator::RequestId id;
    };

    std::unique_ptr<Communicator> group_;
    std::deque<SentSignal> sent_signals_;  // signals whose memory MPI may still read
};

}  // namespace trireme::comm
