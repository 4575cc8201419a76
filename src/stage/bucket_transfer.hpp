// The messages of one bucket on their way.
#pragma once

#include <vector>

#include "stage/held_bucket.hpp"

namespace trireme::stage {

// What a transfer brings, and so what its messages are called.
enum class Cargo : std::uint8_t { gradients, sums, values };

// The elements of a portion, as they travel.
struct Parcel {
    const Portion* portion = nullptr;
    device::Tensor run;    // (elements)
    bool is_copy = false;  // or else the parameters' own memory, where they are one run of it
};

// Where tensors are, and the queue that they are made in, where that is a GPU whose processor has one.
struct TensorHome {
    device::MemorySpace place = device::MemorySpace::host;
    const device::GpuQueue* queue = nullptr;
};

// Copies are in `memory`, which is the transfer's alone. Nothing of the bucket may change on the way.
class BucketTransfer {
public:
    // Point-to-point with all other holders: each gets this rank's gradients of its portion, and this rank
    // theirs of its own.
    static BucketTransfer of_gradients(const HeldBucket& bucket, const model::ParameterTensors& gradients,
                                       device::Arena& memory, const TensorHome& home);
    // Point-to-point with all other holders: each gets this rank's portion, and this rank theirs.
    static BucketTransfer of_portions(const HeldBucket& bucket, Cargo cargo,
                                      const model::ParameterTensors& tensors, device::Arena& memory,
                                      const TensorHome& home);

    bool is_done();
    void wait();

    // Once done: adds the gradients of the own portion in rank order, or puts copies where they belong.
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
    std::vector<comm::Communicator::Ticket> tickets_;  // of messages that are not done
    std::vector<Parcel> arriving_;                     // portions of other holders
    device::Tensor gradients_;  // (other holders, elements of the own portion); absent where the portion is
};

// Transfers that an exchange has in flight at once, at most.
inline constexpr std::size_t most_in_flight = 4;

// Memory that any transfer of a bucket needs at most, for each of its holders: their tensors lie in memory like
// `tensors`. Its shards are added piece by piece.
class TransferSizes {
public:
    TransferSizes(std::size_t holders, const model::ParameterTensors& tensors);
    TransferSizes(const HeldBucket& bucket, const model::ParameterTensors& tensors);

    void add(std::size_t owner, const optim::ParameterShard& shard);
    std::size_t bytes(std::size_t holder) const;  // once all have been added

private:
    // The known part of a portion.
    struct Gathered {
        std::size_t elements = 0;
        void* end = nullptr;  // of its last shard, where it is one run of memory
        bool is_run = true;
    };

    std::size_t copied_bytes(const Gathered& portion) const;

    const model::ParameterTensors& tensors_;
    std::vector<Gathered> portions_;  // per holder
    std::size_t all_copies_ = 0;      // bytes
};

}  // namespace trireme::stage
