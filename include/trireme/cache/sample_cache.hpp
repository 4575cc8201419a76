// The outputs of the frozen layers per sample. The ranks of a node share one cache, so that a rank reads what
// another rank of its node has computed. A cache lives as long as a run.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "trireme/cache/places.hpp"
#include "trireme/comm/node_memory.hpp"
#include "trireme/device/tensor.hpp"

namespace trireme::cache {

// An entry has the depth of a sample, which is the number of frozen blocks that the sample has passed, and the
// rows that the last of these blocks returned. It is valid while no plan has had fewer frozen blocks since the
// entry was written, because those blocks have kept their weights since then. A sample has one entry, whose
// depth grows.
class SampleCache {
public:
    // Collective over the group of `memory`, which has no memory yet. All ranks pass equal arguments.
    // `limit_bytes` limits the shared memory. Throws ResourceError if even an empty cache needs more than there
    // is.
    SampleCache(std::unique_ptr<comm::NodeMemory> memory, const SampleSizes& sizes, std::size_t limit_bytes);
    // Makes a cache for ranks that compute no values and share the object. Its entries have no rows.
    SampleCache(const SampleSizes& sizes, std::size_t limit_bytes);

    // Called on all ranks between two steps, whenever the number of frozen blocks may have changed.
    void set_depth(int frozen_blocks);
    int depth() const { return depths_.back().depth; }

    // Copies the rows of a valid entry to `rows` and returns the depth of the entry. Returns 0 if there is
    // none, or if another rank is writing it. Several ranks may read and write one entry at the same time: each
    // reads what one of them has written, and none waits for another.
    int read(SampleKey key, device::Tensor rows);
    // Replaces an entry by `rows`, whose depth is depth(). Does nothing if the sample has no place, if another
    // rank is reading or writing its entry, or if the entry already has this depth.
    // Returns true if it has replaced the entry.
    bool write(SampleKey key, device::ConstTensor rows);

    const Places& places() const { return places_; }
    // Returns the bytes of the entries that this rank was the first to write.
    std::size_t held_bytes() const { return held_bytes_; }
    // True if the node lacks memory for a sample that has a place. Such a sample gets no entry.
    bool lacks_memory() const { return *lacks_memory_ != 0; }

private:
    using State = std::atomic<std::uint64_t>;
    struct Depth {  // of the plans from one change of depth to the next
        int depth = 0;
        int lowest = 0;  // of these plans and all later ones
    };

    State& find_state(const Place& place) const { return states_[place.index]; }
    int find_valid_depth(std::uint64_t state) const;
    void place_index(std::byte* memory);
    device::Tensor view(const Place& place, const device::ConstTensor& rows) const;

    Places places_;
    std::unique_ptr<comm::NodeMemory> memory_;           // null if entries have no rows
    std::vector<std::byte> own_index_ = {};              // the index, if entries have no rows
    State* states_ = nullptr;                            // one per sample, in the index
    std::atomic<std::uint8_t>* lacks_memory_ = nullptr;  // 0 or 1, in the index
    std::size_t entries_begin_ = 0;                      // bytes from the begin of the shared memory
    std::vector<Depth> depths_;
    std::atomic<std::size_t> held_bytes_ = 0;
};

}  // namespace trireme::cache
