// What ranks tell each other about their messages of GPUs, beside these: neither side waits for what is told.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "trireme/comm/communicator.hpp"

namespace trireme::comm {

struct Signal {
    // The receiver of a message: it may be sent. Its sender: that is in its queue.
    enum class Kind : std::int64_t { wanted, sent };

    Kind kind = Kind::wanted;
    std::int64_t label = 0;  // of what is wanted
    std::int64_t bytes = 0;

    bool is_of(Label other_label, std::size_t other_bytes) const {
        return label == other_label && bytes == static_cast<std::int64_t>(other_bytes);
    }
};

class Signals {
public:
    explicit Signals(std::unique_ptr<Communicator> group) : group_(std::move(group)) {}

    void tell(int peer, const Signal& signal);
    // Those that have come, in the order in which each peer has told them.
    void listen(const std::function<void(int peer, const Signal& signal)>& hear);

private:
    struct Outgoing {
        Signal signal;
        Communicator::Ticket ticket;
    };

    std::unique_ptr<Communicator> group_;
    std::deque<Outgoing> outgoing_;  // whose memory MPI still reads
};

}  // namespace trireme::comm
