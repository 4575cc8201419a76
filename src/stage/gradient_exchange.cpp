#include "trireme/stage/gradient_exchange.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "stage/bucket_transfer.hpp"

namespace trireme::stage {
namespace {

// Memory for one in-flight transfer at a time.
struct TransferBuffer {
    explicit TransferBuffer(std::size_t bytes, device::MemorySpace memory_space)
        : memory("bucket", bytes, memory_space) {}

    bool is_free() const { return !transfer.has_value(); }

    void unload() {
        transfer->unload();
        transfer.reset();
        memory.release(0);
    }

    device::Arena memory;
    std::optional<BucketTransfer> transfer = {};
    std::size_t bucket = 0;  // index in State::buckets_ of the bucket that `transfer` transfers
};

std::vector<optim::ParameterShard> collect_own_shards(const std::vector<HeldBucket>& buckets) {
    std::vector<optim::ParameterShard> shards;
    for (const HeldBucket& bucket : buckets) {
        shards.insert(shards.end(), bucket.own().shards.begin(), bucket.own().shards.end());
    }
    return shards;
}

// Returns the buckets that have several holders.
std::vector<HeldBucket> select_shared_buckets(std::vector<HeldBucket> buckets) {
    std::erase_if(buckets, [](const HeldBucket& bucket) { return bucket.group == nullptr; });
    return buckets;
}

// Returns the bytes of an element of the bucket's gradients.
std::size_t count_element_bytes(const HeldBucket& bucket, const model::ParameterTensors& gradients) {
    return byte_size(gradients[bucket.parameters.front()].dtype);
}

// Returns the bytes that this rank sends when the gradients of the bucket are reduced: those of the portions of
// other holders.
std::size_t count_scattered_bytes(const HeldBucket& bucket, const model::ParameterTensors& gradients) {
    std::size_t elements = 0;
    for (const Portion& portion : bucket.portions) elements += portion.elements;
    return (elements - bucket.own().elements) * count_element_bytes(bucket, gradients);
}

// Returns the bytes that this rank sends when the sums of the bucket are gathered: those of its own portion to
// each other holder.
std::size_t count_gathered_bytes(const HeldBucket& bucket, const model::ParameterTensors& gradients) {
    return (bucket.portions.size() - 1) * bucket.own().elements * count_element_bytes(bucket, gradients);
}

// Returns per parameter the indices of its buckets in `buckets`. `parameters` is the number of parameters.
std::vector<std::vector<std::size_t>> list_buckets_by_parameter(const std::vector<HeldBucket>& buckets,
                                                                std::size_t parameters) {
    std::vector<std::vector<std::size_t>> indices(parameters);
    for (std::size_t b = 0; b < buckets.size(); ++b) {
        for (const std::size_t parameter : buckets[b].parameters) indices[parameter].push_back(b);
    }
    return indices;
}

}  // namespace

struct GradientExchange::State {
    State(const GradientPlan& plan, int rank, const std::vector<model::ParameterSpec>& specs,
          const model::ParameterTensors& values, const model::ParameterTensors& gradients,
          const DataGroups& groups, device::MemorySpace memory_space);

    void begin_step(bool may_start);
    void mark_complete(std::size_t parameter);
    void progress();
    bool is_finished() const;
    void finish();
    void all_gather(TransferKind kind, const model::ParameterTensors& tensors);

    const std::vector<model::ParameterSpec>& specs_;
    const model::ParameterTensors& values_;
    const model::ParameterTensors& gradients_;
    TensorLocation tensor_location_;
    std::vector<optim::ParameterShard> own_shards_;
    std::vector<HeldBucket> buckets_;  // buckets of this rank that have several holders
    std::vector<std::vector<std::size_t>> buckets_by_parameter_;  // indices in buckets_
    std::size_t buffer_bytes_ = 0;
    std::size_t sent_bytes_ = 0;  // of gradients
    std::vector<TransferBuffer> transfer_buffers_;
    bool may_start_ = true;

private:
    enum class BucketState : std::uint8_t { waiting, in_flight, done };

    void start_ready_buckets();
    bool has_buffer_for(std::size_t bucket) const;
    void unload_finished_transfers();
    TransferBuffer& find_free_buffer();
    TransferBuffer& find_buffer(std::size_t bucket);
    void require_complete() const;
    void require_nothing_in_flight(const char* call) const;  // `call`: name of the caller

    std::vector<bool> is_complete_;                   // per parameter
    std::vector<std::size_t> incomplete_parameters_;  // per bucket: number of incomplete parameters
    std::vector<BucketState> bucket_states_;          // per bucket
    std::size_t ready_buckets_ = 0;                   // number of complete buckets that wait for a transfer
    std::size_t first_unfinished_bucket_ = 0;         // index of the first bucket that is not done
};

GradientExchange::State::State(const GradientPlan& plan, int rank,
                               const std::vector<model::ParameterSpec>& specs,
                               const model::ParameterTensors& values, const model::ParameterTensors& gradients,
                               const DataGroups& groups, device::MemorySpace memory_space)
    : specs_(specs), values_(values), gradients_(gradients), tensor_location_{.memory_space = memory_space} {
    std::vector<HeldBucket> held = find_held_buckets(plan, rank, specs, groups);
    own_shards_ = collect_own_shards(held);
    buckets_ = select_shared_buckets(std::move(held));
    buckets_by_parameter_ = list_buckets_by_parameter(buckets_, specs.size());
    for (const HeldBucket& bucket : buckets_) {
        buffer_bytes_ = std::max({buffer_bytes_, TransferSizes(bucket, gradients).bytes(bucket.own_position),
                                  TransferSizes(bucket, values).bytes(bucket.own_position)});
    }
    for (std::size_t i = 0; i < std::min(max_transfers, buckets_.size()); ++i)
        transfer_buffers_.emplace_back(buffer_bytes_, memory_space);
    begin_step(true);
}

void GradientExchange::State::begin_step(bool may_start) {
    require_nothing_in_flight("begin_step");
    may_start_ = may_start;
    is_complete_.clear();
    for (const model::ParameterSpec& spec : specs_) is_complete_.push_back(!spec.is_trained);
    incomplete_parameters_.clear();
    for (const HeldBucket& bucket : buckets_) incomplete_parameters_.push_back(bucket.parameters.size());
    bucket_states_.assign(buckets_.size(), BucketState::waiting);
    ready_buckets_ = 0;
    first_unfinished_bucket_ = 0;
}

void GradientExchange::State::mark_complete(std::size_t parameter) {
    if (is_complete_[parameter]) {
        throw BugError(cat("the gradient of ", specs_[parameter].name, " was marked complete twice"));
    }
    is_complete_[parameter] = true;
    for (const std::size_t bucket : buckets_by_parameter_[parameter]) {
        if (--incomplete_parameters_[bucket] == 0) ++ready_buckets_;
    }
}

void GradientExchange::State::progress() {
    unload_finished_transfers();
    start_ready_buckets();
}

bool GradientExchange::State::is_finished() const {
    return first_unfinished_bucket_ == buckets_.size() &&
           std::ranges::find(is_complete_, false) == is_complete_.end();
}

void GradientExchange::State::finish() {
    require_complete();
    progress();
    while (first_unfinished_bucket_ < buckets_.size()) {
        // The first unfinished bucket is in flight. Its other holders can start it, too: see has_buffer_for().
        find_buffer(first_unfinished_bucket_).transfer->wait();
        progress();
    }
}

void GradientExchange::State::unload_finished_transfers() {
    for (TransferBuffer& buffer : transfer_buffers_) {
        if (buffer.is_free() || !buffer.transfer->is_done()) continue;
        buffer.unload();
        bucket_states_[buffer.bucket] = BucketState::done;
    }
    const auto first_unfinished =
        std::ranges::find_if(bucket_states_, [](BucketState state) { return state != BucketState::done; });
    first_unfinished_bucket_ = static_cast<std::size_t>(first_unfinished - bucket_states_.begin());
}

void GradientExchange::State::start_ready_buckets() {
    if (ready_buckets_ == 0 || !may_start_) return;
    std::set<const comm::Communicator*> blocked_groups;  // groups in which an earlier bucket cannot start yet
    for (std::size_t b = first_unfinished_bucket_; b < buckets_.size(); ++b) {
        if (bucket_states_[b] != BucketState::waiting || blocked_groups.contains(buckets_[b].group)) continue;
        if (incomplete_parameters_[b] > 0 || !has_buffer_for(b)) {
            blocked_groups.insert(buckets_[b].group);
            continue;
        }
        TransferBuffer& buffer = find_free_buffer();
        buffer.bucket = b;
        buffer.transfer =
            BucketTransfer::start_reduce_scatter(buckets_[b], gradients_, buffer.memory, tensor_location_);
        sent_bytes_ += count_scattered_bytes(buckets_[b], gradients_);
        bucket_states_[b] = BucketState::in_flight;
        --ready_buckets_;
    }
}

// Returns true if `bucket` may use a free buffer. While the first unfinished bucket of this rank waits, the
// last free buffer is reserved for that first unfinished bucket. Therefore the first bucket of the plan that
// any rank has not finished can start on each of its holders. Without this rule deadlock is possible: each of
// three ranks could fill all its buffers with buckets that it shares with the next rank. Then no rank would
// have a buffer for the buckets that it shares with the previous rank.
bool GradientExchange::State::has_buffer_for(std::size_t bucket) const {
    const auto free_buffers =
        static_cast<std::size_t>(std::ranges::count_if(transfer_buffers_, &TransferBuffer::is_free));
    const bool may_use_last_buffer =
        bucket == first_unfinished_bucket_ || bucket_states_[first_unfinished_bucket_] != BucketState::waiting;
    return free_buffers > (may_use_last_buffer ? 0 : 1);
}

TransferBuffer& GradientExchange::State::find_free_buffer() {
    return *std::ranges::find_if(transfer_buffers_, &TransferBuffer::is_free);
}

TransferBuffer& GradientExchange::State::find_buffer(std::size_t bucket) {
    return *std::ranges::find_if(transfer_buffers_, [&](const TransferBuffer& buffer) {
        return !buffer.is_free() && buffer.bucket == bucket;
    });
}

// Keeps one transfer per buffer in flight, in bucket order, and waits for the earliest transfer. Deadlock is
// impossible: the first bucket of the plan that any rank has not finished is in flight on each of its holders,
// or is the next to start there.
void GradientExchange::State::all_gather(TransferKind kind, const model::ParameterTensors& tensors) {
    require_nothing_in_flight("all_gather");
    const std::size_t count = transfer_buffers_.size();
    for (std::size_t b = 0; b < buckets_.size() + count; ++b) {
        TransferBuffer& buffer = transfer_buffers_[b % count];
        if (!buffer.is_free()) {
            buffer.transfer->wait();
            buffer.unload();
        }
        if (b >= buckets_.size()) continue;
        buffer.bucket = b;
        buffer.transfer =
            BucketTransfer::start_all_gather(buckets_[b], kind, tensors, buffer.memory, tensor_location_);
        if (kind == TransferKind::sums) sent_bytes_ += count_gathered_bytes(buckets_[b], tensors);
    }
}

void GradientExchange::State::require_complete() const {
    for (const HeldBucket& bucket : buckets_) {
        for (const std::size_t parameter : bucket.parameters) {
            if (is_complete_[parameter]) continue;
            throw BugError(
                cat("finish() was called before the gradient of ", specs_[parameter].name, " was complete"));
        }
    }
    if (!may_start_)
        throw BugError("finish() was called before the gradients of the previous step were reduced");
}

void GradientExchange::State::require_nothing_in_flight(const char* call) const {
    if (std::ranges::all_of(transfer_buffers_, &TransferBuffer::is_free)) return;
    throw BugError(cat(call, "() was called while gradients are in flight; call finish() first"));
}

GradientExchange::GradientExchange(const GradientPlan& plan, int rank,
                                   const std::vector<model::ParameterSpec>& specs,
                                   const model::ParameterTensors& values,
                                   const model::ParameterTensors& gradients, const DataGroups& groups,
                                   device::MemorySpace memory_space)
    : state_(std::make_unique<State>(plan, rank, specs, values, gradients, groups, memory_space)) {}

GradientExchange::~GradientExchange() = default;
GradientExchange::GradientExchange(GradientExchange&& other) noexcept = default;

const std::vector<optim::ParameterShard>& GradientExchange::own_shards() const { return state_->own_shards_; }

std::size_t GradientExchange::take_sent_bytes() { return std::exchange(state_->sent_bytes_, 0); }

std::size_t GradientExchange::bytes() const { return state_->transfer_buffers_.size() * state_->buffer_bytes_; }

void GradientExchange::set_compute_queue(const device::GpuQueue& queue) {
    state_->tensor_location_.queue = &queue;
}

void GradientExchange::begin_step(bool may_start) { state_->begin_step(may_start); }

void GradientExchange::allow_start() {
    state_->may_start_ = true;
    state_->progress();
}

bool GradientExchange::is_finished() const { return state_->is_finished(); }

void GradientExchange::mark_complete(const std::vector<std::size_t>& parameters) {
    for (const std::size_t parameter : parameters) state_->mark_complete(parameter);
    state_->progress();
}

void GradientExchange::progress() { state_->progress(); }
void GradientExchange::finish() { state_->finish(); }
void GradientExchange::all_gather_gradients() { state_->all_gather(TransferKind::sums, state_->gradients_); }
void GradientExchange::all_gather_values() { state_->all_gather(TransferKind::values, state_->values_); }

DataGroups make_data_groups(const comm::Session& session, const std::vector<layout::Bucket>& buckets,
                            device::WaitPolicy wait_policy) {
    DataGroups groups;
    for (const layout::Bucket& bucket : buckets) {
        if (bucket.holders.size() == 1 || groups.contains(bucket.holders)) continue;
        if (!std::ranges::binary_search(bucket.holders, session.rank())) continue;
        groups.emplace(bucket.holders, session.make_group(bucket.holders, "data", wait_policy));
    }
    return groups;
}

}  // namespace trireme::stage
