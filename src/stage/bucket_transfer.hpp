// The messages of one bucket: a transfer, and the sizes of its buffers.
#pragma once

#include <vector>

#include "stage/held_bucket.hpp"

namespace trireme::stage {

// The content of a transfer: gradients of one rank, summed gradients, or weights. Message labels contain the
// kind.
enum class TransferKind : std::uint8_t { gradients, sums, values };

// A portion as one message.
struct PortionMessage {
    const Portion* portion = nullptr;
    device::Tensor run;    // (elements)
    bool is_copy = false;  // if false, `run` is the memory of the tensors themselves
};

// Memory space of the tensors, and the GPU queue whose kernels write them; null if there is none.
struct TensorLocation {
    device::MemorySpace memory_space = device::MemorySpace::host;
    const device::GpuQueue* queue = nullptr;
};

// A reduce-scatter or all-gather of one bucket, in flight or complete. It keeps received gradients and copies
// of portions in `memory`, which no other transfer may use. The tensors of the bucket must not change before
// unload().
class BucketTransfer {
public:
    // Point-to-point with all other holders. Starts a reduce-scatter: sends to each holder the gradients of its
    // portion, and receives from each holder the gradients of this rank's portion.
    static BucketTransfer start_reduce_scatter(const HeldBucket& bucket,
                                               const model::ParameterTensors& gradients, device::Arena& memory,
                                               const TensorLocation& tensor_location);
    // Point-to-point with all other holders. Starts an all-gather: sends this rank's portion, and receives the
    // portions of the other holders.
    static BucketTransfer start_all_gather(const HeldBucket& bucket, TransferKind kind,
                                           const model::ParameterTensors& tensors, device::Arena& memory,
                                           const TensorLocation& tensor_location);

    bool is_done();
    void wait();

    // Called after completion: adds the gradients of this rank's portion in rank order, or copies received
    // portions to the tensors.
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
    std::vector<PortionMessage> received_portions_;   // portions of other holders
    // Gradients of this rank's portion: (other holders, elements); absent if the portion is empty.
    device::Tensor received_gradients_;
};

// Maximum number of in-flight transfers of an exchange.
inline constexpr std::size_t max_transfers = 4;

// Computes, per holder, the maximum number of bytes of `memory` that a transfer of one bucket needs. The
// tensors of all holders have the memory layout of `tensors`. Shards are added piece by piece.
class TransferSizes {
public:
    TransferSizes(std::size_t holders, const model::ParameterTensors& tensors);
    // Adds all shards of `bucket`.
    TransferSizes(const HeldBucket& bucket, const model::ParameterTensors& tensors);

    void add(std::size_t owner, const optim::ParameterShard& shard);
    std::size_t bytes(std::size_t holder) const;  // called after add() for all shards

private:
    // The size of those shards of a portion that have been added so far.
    struct PortionSize {
        std::size_t elements = 0;
        void* end = nullptr;            // end of the last shard; null if the shard is not contiguous
        bool is_contiguous_run = true;  // the portion is one contiguous run of memory
    };

    std::size_t count_copied_bytes(const PortionSize& portion) const;

    const model::ParameterTensors& tensors_;
    std::vector<PortionSize> portions_;    // per holder
    std::size_t copied_bytes_of_all_ = 0;  // of all portions that are not contiguous
};

}  // namespace trireme::stage
