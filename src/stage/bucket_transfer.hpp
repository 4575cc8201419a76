// The messages that reduce-scatter or all-gather one bucket, and the sizes of their buffers.
#pragma once

#include <vector>

#include "stage/held_bucket.hpp"

namespace trireme::stage {

// The content of a transfer: gradients of one rank, gradients summed over the holders, or weights. A message
// label contains the kind.
enum class TransferKind : std::uint8_t { gradients, sums, values };

// A portion of a bucket (see held_bucket.hpp) as one message.
struct PortionMessage {
    const Portion* portion = nullptr;
    device::Tensor run;    // (1, elements), contiguous
    bool is_copy = false;  // true: `run` is a copy; false: `run` is a view of the contiguous portion
};

// Memory space of the tensors, and the GPU queue whose kernels write them. `queue` is null without a GPU.
struct TensorLocation {
    device::MemorySpace memory_space = device::MemorySpace::host;
    const device::GpuQueue* queue = nullptr;
};

// A reduce-scatter or all-gather of one bucket, in flight or complete. The arena `memory` holds received
// gradients and copies of portions. Until unload() has returned, no other transfer may use `memory`, and the
// caller must not change the tensors of the bucket. A transfer keeps references to `bucket` and the tensors.
class BucketTransfer {
public:
    // Point-to-point with all other holders. Starts a reduce-scatter. For every other holder h: sends h this
    // rank's gradients of the portion of h, and receives the gradients of this rank's portion from h.
    static BucketTransfer start_reduce_scatter(const HeldBucket& bucket,
                                               const model::ParameterTensors& gradients, device::Arena& memory,
                                               const TensorLocation& tensor_location);
    // Point-to-point with all other holders. Starts an all-gather: sends this rank's portion to all other
    // holders, and receives their portions. `kind` is sums or values.
    static BucketTransfer start_all_gather(const HeldBucket& bucket, TransferKind kind,
                                           const model::ParameterTensors& tensors, device::Arena& memory,
                                           const TensorLocation& tensor_location);

    bool is_done();
    void wait();

    // Called after the messages are complete. A reduce-scatter adds up the gradients of this rank's portion in
    // rank order. An all-gather copies received portions to the tensors.
    void unload();

private:
    BucketTransfer(const HeldBucket& bucket, TransferKind kind, const model::ParameterTensors& tensors,
                   const TensorLocation& tensor_location);

    comm::Label make_label() const;
    void copy(device::ConstTensor from, device::Tensor to) const;
    std::vector<std::size_t> list_other_holders() const;
    PortionMessage pack(const Portion& portion, device::Arena& memory) const;
    void send(const PortionMessage& message, std::size_t holder);
    void receive(device::Tensor run, std::size_t holder);

    const HeldBucket* bucket_;
    TransferKind kind_;
    const model::ParameterTensors* tensors_;
    TensorLocation tensor_location_;
    std::vector<comm::Communicator::RequestId> ids_;  // pending requests
    std::vector<PortionMessage> received_portions_;   // of an all-gather: portions of other holders
    // Gradients of this rank's portion: (other holders, elements). Absent if the portion is empty, and in an
    // all-gather.
    device::Tensor received_gradients_;
};

// Maximum number of in-flight transfers of a GradientExchange.
inline constexpr std::size_t max_transfers = 4;

// Computes, per holder, the maximum bytes of `memory` that a transfer of one bucket needs. The result is valid
// for holders whose tensors have the memory layout of `tensors`. `tensors` must outlive this object.
class TransferSizes {
public:
    TransferSizes(std::size_t holders, const model::ParameterTensors& tensors);
    // Makes the sizes of `bucket`, with all its shards added.
    TransferSizes(const HeldBucket& bucket, const model::ParameterTensors& tensors);

    // Adds a shard. Shards must be added in the order of HeldShards::for_each(). `owner` and `holder` are
    // positions in the list of holders.
    void add(std::size_t owner, const optim::ParameterShard& shard);
    std::size_t bytes(std::size_t holder) const;  // called after add() for all shards

private:
    // The size of the shards that have been added to a portion.
    struct PortionSize {
        std::size_t elements = 0;
        void* end = nullptr;            // end of the last added shard; null if this shard is not contiguous
        bool is_contiguous_run = true;  // true: the added shards are one contiguous run of memory
    };

    std::size_t count_copied_bytes(const PortionSize& portion) const;

    const model::ParameterTensors& tensors_;
    std::vector<PortionSize> portions_;    // per holder
    std::size_t copied_bytes_of_all_ = 0;  // bytes of the copies of all portions that are not contiguous
};

}  // namespace trireme::stage
