// A one-way channel from one rank's GPU to another's: an NCCL communicator of these two ranks, and a GPU queue
// of its own. NCCL executes the work of a queue in order. With one queue for all pairs, two ranks that first
// send to each other would deadlock.
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
    int own = 0;  // this rank: `from` or `to`
    std::string group = {};

    int peer() const { return own == from ? to : from; }
    bool is_sender() const { return own == from; }
};

class NcclChannel {
public:
    // Begins to open the channel; it is open once is_ready() is true. `library` must outlive the channel.
    NcclChannel(const NcclLibrary& library, ChannelEnds ends, const ncclUniqueId& id);
    ~NcclChannel() { abort(); }
    NcclChannel(const NcclChannel&) = delete;
    NcclChannel& operator=(const NcclChannel&) = delete;

    const ChannelEnds& ends() const { return ends_; }
    std::string name() const;  // "NCCL's channel from rank 0 to rank 1 of the data group"

    // True if no NCCL call is in progress: the work of the last call is in the queue, and another call may be
    // made. False after abort(). Throws ResourceError, naming both ranks, if NCCL failed.
    bool is_ready();

    // Sends the bytes at the sender's end and receives them at the other end. Requires is_ready().
    void start(void* memory, std::size_t bytes);
    device::GpuQueue& queue() { return queue_; }

    void begin_to_close();  // call close() once is_ready() is true
    void close();
    void abort() noexcept;  // also ends work of the queue that waits for a message

private:
    NcclChannel(const NcclLibrary& library, ChannelEnds ends) : library_(library), ends_(std::move(ends)) {}

    void take(ncclResult_t result, const char* call);

    const NcclLibrary& library_;
    ChannelEnds ends_;
    device::GpuQueue queue_ = device::GpuQueue::alone();
    ncclComm_t comm_ = nullptr;
};

// NCCL connects two ranks with the first message, for which both ends wait for each other. Therefore channels
// are opened before they are needed.

// Point-to-point with the other end, over `ranks`. Opens a channel and sends one byte through it. Throws
// ResourceError, naming both ranks, if it does not open in time.
std::unique_ptr<NcclChannel> open_channel(const NcclLibrary& library, Communicator& ranks,
                                          const ChannelEnds& ends, const device::Patience& patience);

// Closes a channel after begin_to_close(); waits until all sent messages have arrived. Throws ResourceError,
// naming both ranks, if that takes too long.
void close_channel(NcclChannel& channel, const device::Patience& patience);

}  // namespace trireme::comm
