// The messages that reduce-scatter or all-gather one bucket, and the sizes of their buffers.
#pragma once

#include <vector>

#include "stage/held_bucket.hpp"

namespace trireme::stage {

// The content of a transfer: gradients of one rank, gradients summed over the holders, or weights. Message
// labels contain the kind.
enum class TransferKind : std::uint8_t { gradients, sums, values };

// A portion of a bucket (see held_bucket.hpp) as one message.
struct PortionMessage {
    const Portion* portion = nullptr;
    device::Tensor run;    // (1, elements), contiguous
    bool is_copy = false;  // false: `run` is a view of the tensors, in which the portion is contiguous
};

// Memory space of the tensors, and the GPU queue whose kernels write them. `queue` is null without a GPU.
struct TensorLocation {
    device::MemorySpace memory_space = device::MemorySpace::host;
    const device::GpuQueue* queue = nullptr;
};

// A reduce-scatter or all-gather of one bucket, in flight or complete. The arena `memory` holds received
// gradients and copies of portions; no other transfer may use it before unload() has returned. Until then, the
// caller must not change the tensors of the bucket. A transfer keeps references to `bucket` and the tensors.
class BucketTransfer {
public:
    // Point-to-point with all other holders. Starts a reduce-scatter: sends to each other holder this rank's
    // gradients of that holder's portion, and receives that holder's gradients of this rank's portion.
    static BucketTransfer start_reduce_scatter(const HeldBucket& bucket,
                                               const model::ParameterTensors& gradients, device::Arena& memory,
                                               const TensorLocation& tensor_location);
    // Point-to-point with all other holders. Starts an all-gather: sends this rank's portion to each other
    // holder, and receives the portions of the other holders. `kind` is sums or values.
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

// Computes per holder the bytes of `memory` that any transfer of one bucket needs at most. `tensors`, which
// must outlive this object, stands for the tensors of every holder: all have its memory layout.
class TransferSizes {
public:
    TransferSizes(std::size_t holders, const model::ParameterTensors& tensors);
    // Adds all shards of `bucket`.
    TransferSizes(const HeldBucket& bucket, const model::ParameterTensors& tensors);

    // Adds a shard, in the order of HeldShards::for_each(). `owner` and `holder` are positions in the list of
    // holders.
    void add(std::size_t owner, const optim::ParameterShard& shard);
    std::size_t bytes(std::size_t holder) const;  // called after add() for all shards

private:
    // The size of the shards of a portion that have been added.
    struct PortionSize {
        std::size_t elements = 0;
        void* end = nullptr;            // address after the last shard; null if that shard is not contiguous
        bool is_contiguous_run = true;  // these shards are one contiguous run of memory
    };

    std::size_t count_copied_bytes(const PortionSize& portion) const;

    const model::ParameterTensors& tensors_;
    std::vector<PortionSize> portions_;    // per holder
    std::size_t copied_bytes_of_all_ = 0;  // bytes of the copies of all portions that are not contiguous
};

}  // namespace trireme::stage
