#include "trireme/cache/sample_cache.hpp"

#include <algorithm>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/device/buffer.hpp"

namespace trireme::cache {
namespace {

// The state word of an entry. The lowest bits count its readers, the next bit is set while a rank writes it.
// The rest is 0 for an entry without rows; otherwise it is the depth, and the index in `depths_` of the plan in
// which the entry was written.
constexpr std::uint64_t writer_bit = std::uint64_t{1} << 16;
constexpr std::uint64_t in_use_mask = 2 * writer_bit - 1;
constexpr int depth_shift = 17;
constexpr int number_shift = 32;
constexpr std::uint64_t depth_mask = (std::uint64_t{1} << (number_shift - depth_shift)) - 1;

std::size_t round_up_to_page(std::size_t bytes) {
    constexpr std::size_t page_bytes = 4096;
    return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

// The index in front of the entries: the states of the samples, and a flag.
std::size_t count_index_bytes(const SampleSizes& sizes) {
    return round_up_to_page((sizes.train.size() + sizes.validation.size()) * sizeof(std::uint64_t) + 1);
}

}  // namespace

SampleCache::SampleCache(std::unique_ptr<comm::NodeMemory> memory, const SampleSizes& sizes,
                         std::size_t limit_bytes)
    : places_(sizes, limit_bytes - std::min(limit_bytes, count_index_bytes(sizes))),
      memory_(std::move(memory)),
      entries_begin_(count_index_bytes(sizes)),
      depths_{Depth{}} {
    static_assert(State::is_always_lock_free && sizeof(State) == sizeof(std::uint64_t));
    memory_->map(entries_begin_ + places_.bytes());
    if (memory_->group().rank() == 0 && !memory_->reserve(0, entries_begin_))
        throw ResourceError(cat("the index of the cache needs ", entries_begin_,
                                " bytes of shared memory, but /dev/shm is full; enlarge /dev/shm"));
    memory_->synchronize();
    place_index(memory_->data());
}

SampleCache::SampleCache(const SampleSizes& sizes, std::size_t limit_bytes)
    : places_(sizes, limit_bytes), own_index_(count_index_bytes(sizes)), depths_{Depth{}} {
    place_index(own_index_.data());
}

void SampleCache::place_index(std::byte* memory) {
    states_ = reinterpret_cast<State*>(memory);
    const std::size_t samples = places_.count_samples(Split::train) + places_.count_samples(Split::validation);
    lacks_memory_ = reinterpret_cast<std::atomic<std::uint8_t>*>(states_ + samples);
}

void SampleCache::set_depth(int frozen_blocks) {
    if (frozen_blocks == depth()) return;
    for (Depth& earlier : depths_) earlier.lowest = std::min(earlier.lowest, frozen_blocks);
    depths_.push_back({.depth = frozen_blocks, .lowest = frozen_blocks});
}

// Returns the depth of the entry with this state; 0 if the entry is not valid.
int SampleCache::find_valid_depth(std::uint64_t state) const {
    const auto depth = static_cast<int>(state >> depth_shift & depth_mask);
    return depth <= depths_[state >> number_shift].lowest ? depth : 0;
}

device::Tensor SampleCache::view(const Place& place, const device::ConstTensor& rows) const {
    if (rows.bytes() != place.bytes)
        throw BugError(cat("a sample of ", place.bytes, " bytes has ", rows.bytes(), " bytes in the cache"));
    return {memory_->data() + entries_begin_ + place.offset, rows.dtype, rows.rows, rows.columns, rows.columns};
}

int SampleCache::read(SampleKey key, device::Tensor rows) {
    const std::optional<Place> place = places_.find(key);
    if (!place) return 0;
    State& state = find_state(*place);
    std::uint64_t seen = state.load();
    do {
        if (find_valid_depth(seen) == 0 || (seen & writer_bit) != 0) return 0;
    } while (!state.compare_exchange_weak(seen, seen + 1));
    if (memory_) copy_rows(view(*place, rows), rows);
    --state;
    return find_valid_depth(seen);
}

bool SampleCache::write(SampleKey key, device::ConstTensor rows) {
    const std::optional<Place> place = places_.find(key);
    if (!place || depth() == 0) return false;
    State& state = find_state(*place);
    std::uint64_t seen = state.load();
    if (find_valid_depth(seen) == depth() || (seen & in_use_mask) != 0) return false;
    if (!state.compare_exchange_strong(seen, seen | writer_bit)) return false;
    const bool is_new = seen == 0;
    if (is_new && memory_ && !memory_->reserve(entries_begin_ + place->offset, place->bytes)) {
        *lacks_memory_ = 1;
        state = seen;
        return false;
    }
    if (memory_) copy_rows(rows, view(*place, rows));
    if (is_new) held_bytes_ += place->bytes;
    state = static_cast<std::uint64_t>(depths_.size() - 1) << number_shift | static_cast<std::uint64_t>(depth())
                                                                                 << depth_shift;
    return true;
}

}  // namespace trireme::cache
