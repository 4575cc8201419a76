#include "stage/bucket_transfer.hpp"

#include <algorithm>

#include "trireme/device/buffer.hpp"

namespace trireme::stage {
namespace {

constexpr int kinds_of_cargo = 3;
constexpr std::size_t cache_line = 64;

// Rounds up, because every tensor begins on a cache line.
std::size_t padded_bytes(std::size_t elements, device::DType dtype) {
    return (elements * bytes_of(dtype) + cache_line - 1) / cache_line * cache_line;
}

// Returns the elements of a portion as one contiguous run of memory; absent if they are not contiguous.
device::Tensor run_of(const Portion& portion, const model::ParameterTensors& tensors) {
    device::Tensor run;
    for (const optim::ParameterShard& shard : portion.shards) {
        const device::Tensor view = shard_of(tensors, shard);
        const bool goes_on = !run.is_present() || run.at(run.size()) == view.data;
        if (!view.is_contiguous() || !goes_on) return {};
        const std::size_t size = run.size() + view.size();
        run = {run.is_present() ? run.data : view.data, view.dtype, 1, size, size, view.place};
    }
    return run;
}

Parcel parcel_of(const Portion& portion, const model::ParameterTensors& tensors, device::Arena& memory) {
    const device::Tensor run = run_of(portion, tensors);
    if (run.is_present()) return {.portion = &portion, .run = run, .is_copy = false};
    const device::DType dtype = tensors[portion.shards.front().parameter].dtype;
    return {.portion = &portion, .run = memory.tensor(dtype, 1, portion.elements), .is_copy = true};
}

device::Tensor gradients_of_others(const HeldBucket& bucket, const model::ParameterTensors& gradients,
                                   device::Arena& memory) {
    if (bucket.own().elements == 0) return {};
    const device::DType dtype = gradients[bucket.own().shards.front().parameter].dtype;
    return memory.tensor(dtype, bucket.portions.size() - 1, bucket.own().elements);
}

// Calls use(run, offset) per contiguous run of the portion. `offset` counts the portion's elements before it.
template <class Use>
void for_each_run(const Portion& portion, const model::ParameterTensors& tensors, Use&& use) {
    std::size_t offset = 0;
    for (const optim::ParameterShard& shard : portion.shards) {
        const device::Tensor view = shard_of(tensors, shard);
        const std::size_t runs = view.is_contiguous() ? 1 : view.rows;
        for (std::size_t r = 0; r < runs; ++r) {
            const device::Tensor run = runs == 1 ? view.flattened() : view.row_range(r, 1);
            use(run, offset);
            offset += run.size();
        }
    }
}

}  // namespace

BucketTransfer::BucketTransfer(const HeldBucket& bucket, Cargo cargo, const model::ParameterTensors& tensors,
                               const TensorHome& home)
    : bucket_(&bucket), cargo_(cargo), tensors_(&tensors), home_(home) {}

BucketTransfer BucketTransfer::of_gradients(const HeldBucket& bucket, const model::ParameterTensors& gradients,
                                            device::Arena& memory, const TensorHome& home) {
    BucketTransfer transfer(bucket, Cargo::gradients, gradients, home);
    transfer.gradients_ = gradients_of_others(bucket, gradients, memory);
    if (transfer.gradients_.is_present()) {
        for (const std::size_t holder : transfer.others()) {
            const std::size_t row = holder < bucket.self ? holder : holder - 1;
            transfer.receive(transfer.gradients_.row_range(row, 1), holder);
        }
    }
    for (const std::size_t holder : transfer.others()) {
        const Portion& portion = bucket.portions[holder];
        if (portion.elements > 0) transfer.send(transfer.loaded(portion, memory), holder);
    }
    return transfer;
}

BucketTransfer BucketTransfer::of_portions(const HeldBucket& bucket, Cargo cargo,
                                           const model::ParameterTensors& tensors, device::Arena& memory,
                                           const TensorHome& home) {
    BucketTransfer transfer(bucket, cargo, tensors, home);
    for (const std::size_t holder : transfer.others()) {
        const Portion& portion = bucket.portions[holder];
        if (portion.elements == 0) continue;
        transfer.arriving_.push_back(parcel_of(portion, tensors, memory));
        transfer.receive(transfer.arriving_.back().run, holder);
    }
    if (bucket.own().elements > 0) {
        const Parcel parcel = transfer.loaded(bucket.own(), memory);
        for (const std::size_t holder : transfer.others()) transfer.send(parcel, holder);
    }
    return transfer;
}

// A message label that identifies the bucket and the kind of data.
comm::Label BucketTransfer::label() const {
    return static_cast<comm::Label>(bucket_->number) * kinds_of_cargo + static_cast<comm::Label>(cargo_);
}

void BucketTransfer::copy(device::ConstTensor from, device::Tensor to) const {
    if (home_.queue != nullptr) home_.queue->wait();
    copy_rows(from, to);
}

// Returns the other holders, starting with the next one, so that not all ranks send to the same one first.
std::vector<std::size_t> BucketTransfer::others() const {
    std::vector<std::size_t> others;
    const std::size_t count = bucket_->portions.size();
    for (std::size_t step = 1; step < count; ++step) others.push_back((bucket_->self + step) % count);
    return others;
}

Parcel BucketTransfer::loaded(const Portion& portion, device::Arena& memory) const {
    const Parcel parcel = parcel_of(portion, *tensors_, memory);
    if (parcel.is_copy && home_.place != device::MemorySpace::ghost) {
        for_each_run(portion, *tensors_, [&](const device::Tensor& run, std::size_t offset) {
            copy(run, parcel.run.column_range(offset, run.columns));
        });
    }
    return parcel;
}

void BucketTransfer::send(const Parcel& parcel, std::size_t holder) {
    tickets_.push_back(bucket_->group->start_send(parcel.run, static_cast<int>(holder), label()));
}

void BucketTransfer::receive(device::Tensor run, std::size_t holder) {
    tickets_.push_back(bucket_->group->start_receive(run, static_cast<int>(holder), label()));
}

bool BucketTransfer::is_done() {
    std::erase_if(tickets_, [&](comm::Communicator::Ticket ticket) { return bucket_->group->is_done(ticket); });
    return tickets_.empty();
}

void BucketTransfer::wait() {
    bucket_->group->wait(tickets_);
    tickets_.clear();
}

void BucketTransfer::unload() {
    if (home_.place == device::MemorySpace::ghost) return;
    for (const Parcel& parcel : arriving_) {
        if (!parcel.is_copy) continue;
        for_each_run(*parcel.portion, *tensors_, [&](const device::Tensor& run, std::size_t offset) {
            copy(parcel.run.column_range(offset, run.columns), run);
        });
    }
    if (!gradients_.is_present()) return;
    const device::ConstTensor others = gradients_;
    for_each_run(bucket_->own(), *tensors_, [&](const device::Tensor& run, std::size_t offset) {
        sum_in_order(run, bucket_->self, others.column_range(offset, run.columns));
    });
}

TransferSizes::TransferSizes(std::size_t holders, const model::ParameterTensors& tensors)
    : tensors_(tensors), portions_(holders) {}

TransferSizes::TransferSizes(const HeldBucket& bucket, const model::ParameterTensors& tensors)
    : TransferSizes(bucket.portions.size(), tensors) {
    for (std::size_t owner = 0; owner < bucket.portions.size(); ++owner) {
        for (const optim::ParameterShard& shard : bucket.portions[owner].shards) add(owner, shard);
    }
}

// Detects contiguous portions like run_of(), shard by shard.
void TransferSizes::add(std::size_t owner, const optim::ParameterShard& shard) {
    Gathered& portion = portions_[owner];
    const device::Tensor view = shard_of(tensors_, shard);
    const bool goes_on = portion.elements == 0 || portion.end == view.data;
    all_copies_ -= copied_bytes(portion);
    portion.is_run = portion.is_run && goes_on && view.is_contiguous();
    portion.end = view.is_contiguous() ? view.at(view.size()) : nullptr;
    portion.elements += view.size();
    all_copies_ += copied_bytes(portion);
}

std::size_t TransferSizes::copied_bytes(const Gathered& portion) const {
    return portion.is_run ? 0 : padded_bytes(portion.elements, tensors_[0].dtype);
}

// Returns the larger need of two transfers. A reduce-scatter receives the other ranks' gradients of the own
// portion and copies the own gradients of their portions. An all-gather copies all portions.
std::size_t TransferSizes::bytes(std::size_t holder) const {
    const Gathered& own = portions_[holder];
    const std::size_t received = padded_bytes((portions_.size() - 1) * own.elements, tensors_[0].dtype);
    return std::max(received + all_copies_ - copied_bytes(own), all_copies_);
}

}  // namespace trireme::stage
