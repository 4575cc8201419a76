#include "trireme/cache/sample_cache.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/device/buffer.hpp"

namespace trireme::cache {
namespace {

// The state word of an entry. The lowest bits count its readers, the next bit is set while a rank writes it.
// The rest is 0 for an entry without rows; otherwise it is the depth, and the index in `depths_` of the plan in
// which the entry was written.
constexpr std::uint64_t writer_bit = std::uint64_t{1} << 16;
constexpr std::uint64_t readers_mask = writer_bit - 1;
constexpr int depth_shift = 17;
constexpr int number_shift = 32;
constexpr std::uint64_t depth_mask = (std::uint64_t{1} << (number_shift - depth_shift)) - 1;

// Entries get memory in chunks.
constexpr std::size_t chunk_bytes = 1 << 20;
enum : std::uint8_t { chunk_is_unused, chunk_has_memory, chunk_lacks_memory };

std::size_t round_up_to_page(std::size_t bytes) {
    constexpr std::size_t page_bytes = 4096;
    return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

std::size_t count_chunks(std::size_t bytes) { return (bytes + chunk_bytes - 1) / chunk_bytes; }

// The index in front of the entries: the states of the samples, the states of the chunks, and a flag.
std::size_t count_index_bytes(std::size_t samples, std::size_t entry_bytes) {
    return round_up_to_page(samples * sizeof(std::uint64_t) + count_chunks(entry_bytes) + 1);
}

// Returns the part of the limit that remains for entries.
std::size_t limit_entries(const SampleSizes& sizes, std::size_t limit_bytes) {
    const std::size_t samples = sizes.train.size() + sizes.validation.size();
    constexpr std::size_t max_entry_bytes = std::size_t{1} << 50;
    limit_bytes = std::min(limit_bytes, max_entry_bytes);
    const std::size_t index_bytes = count_index_bytes(samples, limit_bytes);
    return limit_bytes - std::min(limit_bytes, index_bytes);
}

}  // namespace

SampleCache::SampleCache(std::unique_ptr<comm::NodeMemory> memory, const SampleSizes& sizes,
                         std::size_t limit_bytes)
    : places_(sizes, limit_entries(sizes, limit_bytes)), memory_(std::move(memory)), depths_{Depth{}} {
    static_assert(State::is_always_lock_free && sizeof(State) == sizeof(std::uint64_t));
    const std::size_t samples = places_.count_samples(Split::train) + places_.count_samples(Split::validation);
    const std::size_t chunks_begin = samples * sizeof(State);
    entries_begin_ = count_index_bytes(samples, places_.bytes());
    memory_->map(entries_begin_ + places_.bytes());
    if (memory_->group().rank() == 0 && !memory_->reserve(0, entries_begin_))
        throw ResourceError(cat("the index of the cache needs ", entries_begin_,
                                " bytes of shared memory, but /dev/shm is full; enlarge /dev/shm"));
    memory_->synchronize();
    states_ = reinterpret_cast<State*>(memory_->data());
    chunks_ = reinterpret_cast<std::atomic<std::uint8_t>*>(memory_->data() + chunks_begin);
    lacks_memory_ = chunks_ + count_chunks(places_.bytes());
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
    while (true) {
        if (find_valid_depth(seen) == 0) return 0;
        if ((seen & writer_bit) != 0) {
            std::this_thread::yield();
            seen = state.load();
        } else if (state.compare_exchange_weak(seen, seen + 1)) {
            break;
        }
    }
    copy_rows(view(*place, rows), rows);
    --state;
    return find_valid_depth(seen);
}

void SampleCache::write(SampleKey key, device::ConstTensor rows) {
    const std::optional<Place> place = places_.find(key);
    if (!place || depth() == 0) return;
    State& state = find_state(*place);
    std::uint64_t seen = state.load();
    while (true) {
        if (find_valid_depth(seen) == depth() || (seen & writer_bit) != 0) return;
        if ((seen & readers_mask) != 0) {
            std::this_thread::yield();
            seen = state.load();
        } else if (state.compare_exchange_weak(seen, seen | writer_bit)) {
            break;
        }
    }
    if (!provide_memory(*place)) {
        state = seen;
        return;
    }
    copy_rows(rows, view(*place, rows));
    if (seen == 0) held_bytes_ += place->bytes;
    state = static_cast<std::uint64_t>(depths_.size() - 1) << number_shift | static_cast<std::uint64_t>(depth())
                                                                                 << depth_shift;
}

// Gives memory to the chunks in which the entry lies. Returns false if the node lacks memory for one of them.
bool SampleCache::provide_memory(const Place& place) {
    for (std::size_t c = place.offset / chunk_bytes; c * chunk_bytes < place.offset + place.bytes; ++c) {
        if (chunks_[c] == chunk_is_unused) {
            const std::size_t begin = c * chunk_bytes;
            const std::size_t bytes = std::min(chunk_bytes, places_.bytes() - begin);
            chunks_[c] =
                memory_->reserve(entries_begin_ + begin, bytes) ? chunk_has_memory : chunk_lacks_memory;
        }
        if (chunks_[c] == chunk_lacks_memory) {
            *lacks_memory_ = 1;
            return false;
        }
    }
    return true;
}

}  // namespace trireme::cache
