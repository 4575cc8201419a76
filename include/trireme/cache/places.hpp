// The places of cached samples in the memory of a node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace trireme::cache {

enum class Split : std::uint8_t { train, validation };

// Identifies a sample in the list of its split.
struct SampleKey {
    Split split = Split::train;
    std::uint64_t sample = 0;
};

// The rows of each sample, by split. A row has `row_bytes` bytes. Training samples in `first` get their places
// before the others; an empty list is one of all samples.
struct SampleSizes {
    std::vector<std::uint32_t> train;
    std::vector<std::uint32_t> validation;
    std::size_t row_bytes = 0;
    std::vector<bool> first = {};  // per training sample
};

struct Place {
    std::size_t index = 0;   // number of the sample, over both splits
    std::size_t offset = 0;  // bytes from the first row of all entries
    std::size_t bytes = 0;
};

// Each sample has a place of its own. Samples have places in a random but fixed order, training samples first,
// until the limit is reached; the other samples have none. Which samples have a place depends neither on the
// order in which they are visited nor on the rank.
class Places {
public:
    Places(SampleSizes sizes, std::size_t limit_bytes);

    std::optional<Place> find(SampleKey key) const;  // empty if the sample has no place
    std::size_t count_samples(Split split) const { return list(split).size(); }
    std::size_t count_placed(Split split) const;  // samples that have a place
    std::size_t bytes() const { return bytes_; }  // of all places

private:
    const std::vector<std::uint32_t>& list(Split split) const {
        return split == Split::train ? sizes_.train : sizes_.validation;
    }
    void place(Split split, std::size_t limit_bytes);

    SampleSizes sizes_;
    std::vector<std::size_t> offsets_;  // per sample over both splits
    std::size_t bytes_ = 0;
};

}  // namespace trireme::cache
