// The messages of one bucket: a transfer that may be in flight, and its memory needs.
#pragma once

#include <vector>

#include "stage/held_bucket.hpp"

namespace trireme::stage {

// The kind of data of a transfer, which is part of its message label.
enum class Cargo : std::uint8_t { gradients, sums, values };

// The elements of a portion as one message.
struct Parcel {
    const Portion* portion = nullptr;
    device::Tensor run;    // (elements)
    bool is_copy = false;  // otherwise `run` is the parameters' own memory
};

// Memory space of the tensors, and the GPU queue that computes them; null if there is none.
struct TensorHome {
    device::MemorySpace place = device::MemorySpace::host;
    const device::GpuQueue* queue = nullptr;
};

// A transfer of one bucket. Copies are in `memory`, which no other transfer may use. The tensors of the bucket
// must not change before unload().
class BucketTransfer {
public:
    // Point-to-point with all other holders. Starts a reduce-scatter: sends each holder this rank's gradients
    // of that holder's portion, and receives their gradients of the own portion.
    static BucketTransfer of_gradients(const HeldBucket& bucket, const model::ParameterTensors& gradients,
                                       device::Arena& memory, const TensorHome& home);
    // Point-to-point with all other holders. Starts an all-gather: sends the own portion and receives theirs.
    static BucketTransfer of_portions(const HeldBucket& bucket, Cargo cargo,
                                      const model::ParameterTensors& tensors, device::Arena& memory,
                                      const TensorHome& home);

    bool is_done();
    void wait();

    // Called after completion: sums the gradients of the own portion in rank order, or copies received portions
    // to the tensors.
    void unload();

private:
    BucketTransfer(const HeldBucket& bucket, Cargo cargo, const model::ParameterTensors& tensors,
                   const TensorHome& home);

    comm::Label label() const;
    void copy(device::ConstTensor from, device::Tensor to) const;
    std::vector<std::size_t> others() const;
    Parcel loaded(const Portion& portion, device::Arena& memory) const;
    void send(const Parcel& parcel, std::size_t holder);
    void receive(device::Tensor run, std::size_t holder);

    const HeldBucket* bucket_;
    Cargo cargo_;
    const model::ParameterTensors* tensors_;
    TensorHome home_;
    std::vector<comm::Communicator::Ticket> tickets_;  // pending requests
    std::vector<Parcel> arriving_;                     // portions of other holders
    device::Tensor gradients_;  // (other holders, elements of the own portion); absent if that is empty
};

// Maximum number of transfers that an exchange has in flight.
inline constexpr std::size_t most_in_flight = 4;

// Computes, per holder, the maximum memory of a transfer of a bucket. The holders' tensors have the memory
// layout of `tensors`. Shards are added piece by piece.
class TransferSizes {
public:
    TransferSizes(std::size_t holders, const model::ParameterTensors& tensors);
    TransferSizes(const HeldBucket& bucket, const model::ParameterTensors& tensors);

    void add(std::size_t owner, const optim::ParameterShard& shard);
    std::size_t bytes(std::size_t holder) const;  // called after all add()

private:
    // The shards of a portion that have been added so far.
    struct Gathered {
        std::size_t elements = 0;
        void* end = nullptr;  // end of its last shard; null if that is not contiguous
        bool is_run = true;   // the portion is one run of memory
    };

    std::size_t copied_bytes(const Gathered& portion) const;

    const model::ParameterTensors& tensors_;
    std::vector<Gathered> portions_;  // per holder
    std::size_t all_copies_ = 0;      // bytes
};

}  // namespace trireme::stage
