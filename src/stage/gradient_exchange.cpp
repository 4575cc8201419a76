#include "trireme/stage/gradient_exchange.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "stage/bucket_transfer.hpp"

namespace trireme::stage {
namespace {

// Memory of one in-flight bucket.
struct Slot {
    explicit Slot(std::size_t bytes, device::MemorySpace place) : memory("bucket", bytes, place) {}

    bool is_free() const { return !transfer.has_value(); }

    void unload() {
        transfer->unload();
        transfer.reset();
        memory.release(0);
    }

    device::Arena memory;
    std::optional<BucketTransfer> transfer = {};
    std::size_t bucket = 0;  // number of the transferred bucket
};

std::vector<optim::ParameterShard> own_shards_of(const std::vector<HeldBucket>& buckets) {
    std::vector<optim::ParameterShard> shards;
    for (const HeldBucket& bucket : buckets) {
        shards.insert(shards.end(), bucket.own().shards.begin(), bucket.own().shards.end());
    }
    return shards;
}

std::vector<HeldBucket> shared_ones(std::vector<HeldBucket> buckets) {
    std::erase_if(buckets, [](const HeldBucket& bucket) { return bucket.group == nullptr; });
    return buckets;
}

// Returns the numbers of the rank's buckets per parameter.
std::vector<std::vector<std::size_t>> buckets_by_parameter(const std::vector<HeldBucket>& buckets,
                                                           std::size_t parameters) {
    std::vector<std::vector<std::size_t>> numbers(parameters);
    for (std::size_t b = 0; b < buckets.size(); ++b) {
        for (const std::size_t parameter : buckets[b].parameters) numbers[parameter].push_back(b);
    }
    return numbers;
}

}  // namespace

struct GradientExchange::State {
    State(const GradientPlan& plan, int rank, const std::vector<model::ParameterSpec>& specs,
          const model::ParameterTensors& values, const model::ParameterTensors& gradients,
          const DataGroups& groups, device::MemorySpace place);

    void begin(bool may_start);
    void complete(std::size_t parameter);
    void advance();
    bool is_finished() const;
    void finish();
    void share(Cargo cargo, const model::ParameterTensors& tensors);

    const std::vector<model::ParameterSpec>& specs_;
    const model::ParameterTensors& values_;
    const model::ParameterTensors& gradients_;
    TensorHome home_;
    std::vector<optim::ParameterShard> own_shards_;
    std::vector<HeldBucket> buckets_;                   // with several holders
    std::vector<std::vector<std::size_t>> buckets_of_;  // per parameter
    std::size_t slot_bytes_ = 0;
    std::vector<Slot> slots_;
    bool may_start_ = true;

private:
    enum class Progress : std::uint8_t { waiting, in_flight, done };

    void start_what_is_ready();
    bool has_room_for(std::size_t bucket) const;
    void unload_what_has_come();
    Slot& free_slot();
    Slot& slot_of(std::size_t bucket);
    void require_complete() const;
    void require_nothing_in_flight(const char* call) const;

    std::vector<bool> is_complete_;        // per parameter
    std::vector<std::size_t> incomplete_;  // per bucket: number of incomplete parameters
    std::vector<Progress> progress_;       // per bucket
    std::size_t ready_ = 0;                // number of complete buckets that have not started
    std::size_t first_unfinished_ = 0;     // the first bucket that is not done
};

GradientExchange::State::State(const GradientPlan& plan, int rank,
                               const std::vector<model::ParameterSpec>& specs,
                               const model::ParameterTensors& values, const model::ParameterTensors& gradients,
                               const DataGroups& groups, device::MemorySpace place)
    : specs_(specs), values_(values), gradients_(gradients), home_{.place = place} {
    std::vector<HeldBucket> held = held_buckets(plan, rank, specs, groups);
    own_shards_ = own_shards_of(held);
    buckets_ = shared_ones(std::move(held));
    buckets_of_ = buckets_by_parameter(buckets_, specs.size());
    for (const HeldBucket& bucket : buckets_) {
        slot_bytes_ = std::max({slot_bytes_, TransferSizes(bucket, gradients).bytes(bucket.self),
                                TransferSizes(bucket, values).bytes(bucket.self)});
    }
    for (std::size_t s = 0; s < std::min(most_in_flight, buckets_.size()); ++s)
        slots_.emplace_back(slot_bytes_, place);
    begin(true);
}

void GradientExchange::State::begin(bool may_start) {
    require_nothing_in_flight("begin");
    may_start_ = may_start;
    is_complete_.assign(specs_.size(), false);
    incomplete_.clear();
    for (const HeldBucket& bucket : buckets_) incomplete_.push_back(bucket.parameters.size());
    progress_.assign(buckets_.size(), Progress::waiting);
    ready_ = 0;
    first_unfinished_ = 0;
}

void GradientExchange::State::complete(std::size_t parameter) {
    if (is_complete_[parameter]) {
        throw BugError(cat("the gradient of ", specs_[parameter].name, " was complete before"));
    }
    is_complete_[parameter] = true;
    for (const std::size_t bucket : buckets_of_[parameter]) {
        if (--incomplete_[bucket] == 0) ++ready_;
    }
}

void GradientExchange::State::advance() {
    unload_what_has_come();
    start_what_is_ready();
}

bool GradientExchange::State::is_finished() const {
    return first_unfinished_ == buckets_.size() && std::ranges::find(is_complete_, false) == is_complete_.end();
}

void GradientExchange::State::finish() {
    require_complete();
    advance();
    while (first_unfinished_ < buckets_.size()) {
        slot_of(first_unfinished_).transfer->wait();  // all its holders have a slot for it: see has_room_for()
        advance();
    }
}

void GradientExchange::State::unload_what_has_come() {
    for (Slot& slot : slots_) {
        if (slot.is_free() || !slot.transfer->is_done()) continue;
        slot.unload();
        progress_[slot.bucket] = Progress::done;
    }
    const auto first = std::ranges::find_if(progress_, [](Progress p) { return p != Progress::done; });
    first_unfinished_ = static_cast<std::size_t>(first - progress_.begin());
}

void GradientExchange::State::start_what_is_ready() {
    if (ready_ == 0 || !may_start_) return;
    std::set<const comm::Communicator*> blocked;  // groups with an earlier bucket that has not started
    for (std::size_t b = first_unfinished_; b < buckets_.size(); ++b) {
        if (progress_[b] != Progress::waiting || blocked.contains(buckets_[b].group)) continue;
        if (incomplete_[b] > 0 || !has_room_for(b)) {
            blocked.insert(buckets_[b].group);
            continue;
        }
        Slot& slot = free_slot();
        slot.bucket = b;
        slot.transfer = BucketTransfer::of_gradients(buckets_[b], gradients_, slot.memory, home_);
        progress_[b] = Progress::in_flight;
        --ready_;
    }
}

// The last free slot is reserved for the first unfinished bucket. Otherwise deadlock is possible: three ranks
// could each fill all their slots with buckets that they share with the next rank, and none would have a slot
// for the buckets of the rank before. So the globally first unfinished bucket can start on each of its holders.
bool GradientExchange::State::has_room_for(std::size_t bucket) const {
    const auto free = static_cast<std::size_t>(std::ranges::count_if(slots_, &Slot::is_free));
    const bool is_first_safe = bucket == first_unfinished_ || progress_[first_unfinished_] != Progress::waiting;
    return free > (is_first_safe ? 0 : 1);
}

Slot& GradientExchange::State::free_slot() { return *std::ranges::find_if(slots_, &Slot::is_free); }

Slot& GradientExchange::State::slot_of(std::size_t bucket) {
    return *std::ranges::find_if(slots_,
                                 [&](const Slot& slot) { return !slot.is_free() && slot.bucket == bucket; });
}

// Keeps up to slots_.size() buckets in flight, in the order of the plan, and waits for the earliest. This
// cannot deadlock: the globally first unfinished bucket is in flight on each of its holders, or starts next.
void GradientExchange::State::share(Cargo cargo, const model::ParameterTensors& tensors) {
    require_nothing_in_flight("share");
    const std::size_t count = slots_.size();
    for (std::size_t b = 0; b < buckets_.size() + count; ++b) {
        Slot& slot = slots_[b % count];
        if (!slot.is_free()) {
            slot.transfer->wait();
            slot.unload();
        }
        if (b >= buckets_.size()) continue;
        slot.bucket = b;
        slot.transfer = BucketTransfer::of_portions(buckets_[b], cargo, tensors, slot.memory, home_);
    }
}

void GradientExchange::State::require_complete() const {
    for (const HeldBucket& bucket : buckets_) {
        for (const std::size_t parameter : bucket.parameters) {
            if (is_complete_[parameter]) continue;
            throw BugError(
                cat("gradients are to be summed, and that of ", specs_[parameter].name, " is not complete"));
        }
    }
    if (!may_start_) throw BugError("gradients are to be summed before those of the step before");
}

void GradientExchange::State::require_nothing_in_flight(const char* call) const {
    if (std::ranges::all_of(slots_, &Slot::is_free)) return;
    throw BugError(cat(call, " was called with gradients in flight; finish() comes first"));
}

GradientExchange::GradientExchange(const GradientPlan& plan, int rank,
                                   const std::vector<model::ParameterSpec>& specs,
                                   const model::ParameterTensors& values,
                                   const model::ParameterTensors& gradients, const DataGroups& groups,
                                   device::MemorySpace place)
    : state_(std::make_unique<State>(plan, rank, specs, values, gradients, groups, place)) {}

GradientExchange::~GradientExchange() = default;
GradientExchange::GradientExchange(GradientExchange&& other) noexcept = default;

const std::vector<optim::ParameterShard>& GradientExchange::own_shards() const { return state_->own_shards_; }

std::size_t GradientExchange::bytes() const { return state_->slots_.size() * state_->slot_bytes_; }

void GradientExchange::wait_for(const device::GpuQueue& queue) { state_->home_.queue = &queue; }

void GradientExchange::begin(bool may_start) { state_->begin(may_start); }

void GradientExchange::may_start() {
    state_->may_start_ = true;
    state_->advance();
}

bool GradientExchange::is_finished() const { return state_->is_finished(); }

void GradientExchange::complete(const std::vector<std::size_t>& parameters) {
    for (const std::size_t parameter : parameters) state_->complete(parameter);
    state_->advance();
}

void GradientExchange::advance() { state_->advance(); }
void GradientExchange::finish() { state_->finish(); }
void GradientExchange::share_gradients() { state_->share(Cargo::sums, state_->gradients_); }
void GradientExchange::share_values() { state_->share(Cargo::values, state_->values_); }

DataGroups make_data_groups(const comm::Session& session, const std::vector<layout::Bucket>& buckets,
                            device::Patience patience) {
    DataGroups groups;
    for (const layout::Bucket& bucket : buckets) {
        if (bucket.holders.size() == 1 || groups.contains(bucket.holders)) continue;
        if (!std::ranges::binary_search(bucket.holders, session.rank())) continue;
        groups.emplace(bucket.holders, session.group_of(bucket.holders, "data", patience));
    }
    return groups;
}

}  // namespace trireme::stage
