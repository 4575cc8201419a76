// A one-way channel from the GPU of one rank to the GPU of another: an NCCL communicator of these two ranks,
// and a GPU queue of its own. NCCL executes the work of a queue in order: with one queue for all channels, two
// ranks that both send to each other first would deadlock.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "comm/nccl/library.hpp"
#include "trireme/comm/communicator.hpp"
#include "trireme/device/gpu.hpp"

namespace trireme::comm {

struct ChannelEnds {
    int sender = 0;  // rank of the group, like `receiver`
    int receiver = 0;
    int own_rank = 0;        // this rank: equal to `sender` or `receiver`
    std::string group = {};  // name of the group

    int peer() const { return own_rank == sender ? receiver : sender; }
    bool is_sender() const { return own_rank == sender; }
};

class NcclChannel {
public:
    // Begins to open the channel; it is open once is_ready() is true. `library` must outlive the channel.
    NcclChannel(const NcclLibrary& library, ChannelEnds ends, const ncclUniqueId& id);
    ~NcclChannel() { abort(); }
    NcclChannel(const NcclChannel&) = delete;
    NcclChannel& operator=(const NcclChannel&) = delete;

    const ChannelEnds& ends() const { return ends_; }
    // Returns, for example, "the NCCL channel from rank 0 to rank 1 of the data group".
    std::string name() const;

    // Returns true if no NCCL call is in progress: the work of the last call is in the queue, and another call
    // may be made. Returns false after abort(). Throws ResourceError, naming both ranks, if NCCL failed.
    bool is_ready();

    // At the sender's end, queues the send of `bytes` bytes of `memory`. At the receiver's end, queues the
    // receive. Requires is_ready().
    void start(void* memory, std::size_t bytes);
    device::GpuQueue& queue() { return queue_; }

    void begin_to_close();  // call close() once is_ready() is true
    void close();
    void abort() noexcept;  // also ends GPU work that waits for a message

private:
    NcclChannel(const NcclLibrary& library, ChannelEnds ends) : library_(library), ends_(std::move(ends)) {}

    void require_success(ncclResult_t result, const char* call);

    const NcclLibrary& library_;
    ChannelEnds ends_;
    device::GpuQueue queue_ = device::GpuQueue::make_non_blocking();
    ncclComm_t comm_ = nullptr;
};

// NCCL connects two ranks when their first message starts, and each end then waits for the other. Therefore
// channels are opened, with a first message of one byte, before they are needed.

// Called at both ends, which exchange the id of the channel over `mpi_group`. Opens a channel and sends one
// byte through the channel. Throws ResourceError, naming both ranks, if the channel does not open in time.
std::unique_ptr<NcclChannel> open_channel(const NcclLibrary& library, Communicator& mpi_group,
                                          const ChannelEnds& ends, const device::WaitPolicy& wait_policy);

// Closes a channel after begin_to_close(); waits until all sent messages have arrived. Throws ResourceError,
// naming both ranks, if the messages do not arrive in time.
void close_channel(NcclChannel& channel, const device::WaitPolicy& wait_policy);

}  // namespace trireme::comm
