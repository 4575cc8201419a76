// The way of messages from one rank's GPU to another's: a communicator of NCCL's for these two alone, and a
// queue of its own. NCCL does what a queue was given in its order: with one for all pairs, two ranks that send
// to each other first would wait for ever.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "comm/nccl/library.hpp"
#include "trireme/comm/communicator.hpp"
#include "trireme/device/gpu.hpp"

namespace trireme::comm {

struct ChannelEnds {
    int from = 0;  // ranks of the group
    int to = 0;
    int own = 0;  // one of both
    std::string group = {};

    int peer() const { return own == from ? to : from; }
    bool is_sender() const { return own == from; }
};

class NcclChannel {
public:
    // Begins to open it; is_ready() says when that is done. The library outlives it.
    NcclChannel(const NcclLibrary& library, ChannelEnds ends, const ncclUniqueId& id);
    ~NcclChannel() { abort(); }
    NcclChannel(const NcclChannel&) = delete;
    NcclChannel& operator=(const NcclChannel&) = delete;

    const ChannelEnds& ends() const { return ends_; }
    std::string name() const;  // "NCCL's channel from rank 0 to rank 1 of the data group"

    // No call is under way, so that another may be made: the last one's work is in the queue. False too of one
    // that was aborted. Throws ResourceError, naming both ranks, where NCCL failed.
    bool is_ready();

    // The sender sends them, the other one receives them. It is ready.
    void start(void* memory, std::size_t bytes);
    device::GpuQueue& queue() { return queue_; }

    void begin_to_close();  // until it is_ready()
    void close();
    void abort() noexcept;  // what its queue stands for ends

private:
    NcclChannel(const NcclLibrary& library, ChannelEnds ends) : library_(library), ends_(std::move(ends)) {}

    void take(ncclResult_t result, const char* call);

    const NcclLibrary& library_;
    ChannelEnds ends_;
    device::GpuQueue queue_ = device::GpuQueue::alone();
    ncclComm_t comm_ = nullptr;
};

// Channels are opened before they are needed: NCCL makes a connection when the first message goes, and both
// ends wait for each other then.

// Point-to-point with the other end, over `ranks`. Opened, and one byte has gone through it. Throws
// ResourceError where it is not open in time, naming both.
std::unique_ptr<NcclChannel> open_channel(const NcclLibrary& library, Communicator& ranks,
                                          const ChannelEnds& ends, const device::Patience& patience);

// Of one that has begun to close: waits until all that was sent has come. Throws as open_channel().
void close_channel(NcclChannel& channel, const device::Patience& patience);

}  // namespace trireme::comm
