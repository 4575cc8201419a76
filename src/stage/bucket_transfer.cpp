#include "stage/bucket_transfer.hpp"

#include <algorithm>

#include "trireme/base/numbers.hpp"
#include "trireme/device/buffer.hpp"

namespace trireme::stage {
namespace {

constexpr int transfer_kind_count = 3;  // number of enumerators of TransferKind

// Returns the bytes that a tensor takes in an arena, where every tensor begins on a cache line.
std::size_t count_arena_bytes(std::size_t elements, device::DType dtype) {
    return round_up_to_cache_lines(elements * byte_size(dtype));
}

// Returns a view (1, elements) of a portion in the memory of `tensors`. Absent if the portion is empty or not
// contiguous.
device::Tensor find_contiguous_run(const Portion& portion, const model::ParameterTensors& tensors) {
    device::Tensor run;
    for (const optim::ParameterShard& shard : portion.shards) {
        const device::Tensor view = view_shard(tensors, shard);
        const bool is_adjacent = !run.is_present() || run.at(run.size()) == view.data;
        if (!view.is_contiguous() || !is_adjacent) return {};
        const std::size_t size = run.size() + view.size();
        run = {run.is_present() ? run.data : view.data, view.dtype, 1, size, size, view.memory_space};
    }
    return run;
}

// Returns the message of a portion that is not empty. If the portion is not contiguous, allocates a tensor for
// a copy, which this function does not fill.
PortionMessage make_portion_message(const Portion& portion, const model::ParameterTensors& tensors,
                                    device::Arena& memory) {
    const device::Tensor run = find_contiguous_run(portion, tensors);
    if (run.is_present()) return {.portion = &portion, .run = run, .is_copy = false};
    const device::DType dtype = tensors[portion.shards.front().parameter].dtype;
    return {.portion = &portion, .run = memory.tensor(dtype, 1, portion.elements), .is_copy = true};
}

// Returns a tensor (other holders, elements) for the gradients of this rank's portion; absent if the portion is
// empty.
device::Tensor allocate_received_gradients(const HeldBucket& bucket, const model::ParameterTensors& gradients,
                                           device::Arena& memory) {
    if (bucket.own().elements == 0) return {};
    const device::DType dtype = gradients[bucket.own().shards.front().parameter].dtype;
    return memory.tensor(dtype, bucket.portions.size() - 1, bucket.own().elements);
}

// Calls use(run, offset) per contiguous run of the portion: per shard, or per row of a shard that is not
// contiguous. `run` is a view (1, elements). `offset` is the number of elements of the portion before the run.
template <class Use>
void for_each_run(const Portion& portion, const model::ParameterTensors& tensors, Use&& use) {
    std::size_t offset = 0;
    for (const optim::ParameterShard& shard : portion.shards) {
        const device::Tensor view = view_shard(tensors, shard);
        const std::size_t runs = view.is_contiguous() ? 1 : view.rows;
        for (std::size_t r = 0; r < runs; ++r) {
            const device::Tensor run = runs == 1 ? view.flattened() : view.row_range(r, 1);
            use(run, offset);
            offset += run.size();
        }
    }
}

}  // namespace

BucketTransfer::BucketTransfer(const HeldBucket& bucket, TransferKind kind,
                               const model::ParameterTensors& tensors, const TensorLocation& tensor_location)
    : bucket_(&bucket), kind_(kind), tensors_(&tensors), tensor_location_(tensor_location) {}

BucketTransfer BucketTransfer::start_reduce_scatter(const HeldBucket& bucket,
                                                    const model::ParameterTensors& gradients,
                                                    device::Arena& memory,
                                                    const TensorLocation& tensor_location) {
    BucketTransfer transfer(bucket, TransferKind::gradients, gradients, tensor_location);
    transfer.received_gradients_ = allocate_received_gradients(bucket, gradients, memory);
    if (transfer.received_gradients_.is_present()) {
        for (const std::size_t holder : transfer.list_other_holders()) {
            const std::size_t row = holder < bucket.own_position ? holder : holder - 1;
            transfer.receive(transfer.received_gradients_.row_range(row, 1), holder);
        }
    }
    for (const std::size_t holder : transfer.list_other_holders()) {
        const Portion& portion = bucket.portions[holder];
        if (portion.elements > 0) transfer.send(transfer.pack(portion, memory), holder);
    }
    return transfer;
}

BucketTransfer BucketTransfer::start_all_gather(const HeldBucket& bucket, TransferKind kind,
                                                const model::ParameterTensors& tensors, device::Arena& memory,
                                                const TensorLocation& tensor_location) {
    BucketTransfer transfer(bucket, kind, tensors, tensor_location);
    for (const std::size_t holder : transfer.list_other_holders()) {
        const Portion& portion = bucket.portions[holder];
        if (portion.elements == 0) continue;
        transfer.received_portions_.push_back(make_portion_message(portion, tensors, memory));
        transfer.receive(transfer.received_portions_.back().run, holder);
    }
    if (bucket.own().elements > 0) {
        const PortionMessage message = transfer.pack(bucket.own(), memory);
        for (const std::size_t holder : transfer.list_other_holders()) transfer.send(message, holder);
    }
    return transfer;
}

// Returns a message label that identifies the bucket and the kind of the transfer.
comm::Label BucketTransfer::make_label() const {
    return static_cast<comm::Label>(bucket_->index) * transfer_kind_count + static_cast<comm::Label>(kind_);
}

void BucketTransfer::copy(device::ConstTensor from, device::Tensor to) const {
    if (tensor_location_.queue != nullptr) tensor_location_.queue->wait();
    copy_rows(from, to);
}

// Returns the positions of the other holders in cyclic order, starting after this rank, so that not all ranks
// send to the same holder first.
std::vector<std::size_t> BucketTransfer::list_other_holders() const {
    std::vector<std::size_t> others;
    const std::size_t count = bucket_->portions.size();
    for (std::size_t distance = 1; distance < count; ++distance)
        others.push_back((bucket_->own_position + distance) % count);
    return others;
}

// Returns the message of a portion that this rank sends, and fills its copy if there is one.
PortionMessage BucketTransfer::pack(const Portion& portion, device::Arena& memory) const {
    const PortionMessage message = make_portion_message(portion, *tensors_, memory);
    if (message.is_copy && tensor_location_.memory_space != device::MemorySpace::ghost) {
        for_each_run(portion, *tensors_, [&](const device::Tensor& run, std::size_t offset) {
            copy(run, message.run.column_range(offset, run.columns));
        });
    }
    return message;
}

void BucketTransfer::send(const PortionMessage& message, std::size_t holder) {
    ids_.push_back(bucket_->group->start_send(message.run, static_cast<int>(holder), make_label()));
}

void BucketTransfer::receive(device::Tensor run, std::size_t holder) {
    ids_.push_back(bucket_->group->start_receive(run, static_cast<int>(holder), make_label()));
}

bool BucketTransfer::is_done() {
    bucket_->group->remove_done(ids_);
    return ids_.empty();
}

void BucketTransfer::wait() {
    bucket_->group->wait(ids_);
    ids_.clear();
}

void BucketTransfer::unload() {
    if (tensor_location_.memory_space == device::MemorySpace::ghost) return;
    for (const PortionMessage& message : received_portions_) {
        if (!message.is_copy) continue;
        for_each_run(*message.portion, *tensors_, [&](const device::Tensor& run, std::size_t offset) {
            copy(message.run.column_range(offset, run.columns), run);
        });
    }
    if (!received_gradients_.is_present()) return;
    const device::ConstTensor received = received_gradients_;
    for_each_run(bucket_->own(), *tensors_, [&](const device::Tensor& run, std::size_t offset) {
        sum_in_order(run, bucket_->own_position, received.column_range(offset, run.columns));
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

// Detects contiguous portions by the rule of find_contiguous_run(), but shard by shard.
void TransferSizes::add(std::size_t owner, const optim::ParameterShard& shard) {
    PortionSize& portion = portions_[owner];
    const device::Tensor view = view_shard(tensors_, shard);
    const bool is_adjacent = portion.elements == 0 || portion.end == view.data;
    copied_bytes_of_all_ -= count_copied_bytes(portion);
    portion.is_contiguous_run = portion.is_contiguous_run && is_adjacent && view.is_contiguous();
    portion.end = view.is_contiguous() ? view.at(view.size()) : nullptr;
    portion.elements += view.size();
    copied_bytes_of_all_ += count_copied_bytes(portion);
}

std::size_t TransferSizes::count_copied_bytes(const PortionSize& portion) const {
    return portion.is_contiguous_run ? 0 : count_arena_bytes(portion.elements, tensors_[0].dtype);
}

// Returns the larger of the bytes of a reduce-scatter and those of an all-gather. A reduce-scatter receives the
// gradients of the holder's own portion from all other holders. Before it sends a portion of another holder
// that is not contiguous, it copies this portion. An all-gather copies all portions that are not contiguous.
std::size_t TransferSizes::bytes(std::size_t holder) const {
    const PortionSize& own_portion = portions_[holder];
    const std::size_t received =
        count_arena_bytes((portions_.size() - 1) * own_portion.elements, tensors_[0].dtype);
    return std::max(received + copied_bytes_of_all_ - count_copied_bytes(own_portion), copied_bytes_of_all_);
}

}  // namespace trireme::stage
