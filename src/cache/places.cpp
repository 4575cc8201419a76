#include "trireme/cache/places.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "trireme/base/numbers.hpp"
#include "trireme/base/random.hpp"

namespace trireme::cache {
namespace {

constexpr std::size_t no_place = std::numeric_limits<std::size_t>::max();

// Returns the numbers 0 to `count` - 1 in a random order that is always the same (Fisher and Yates).
std::vector<std::size_t> shuffle(std::size_t count) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    const RandomKey key = RandomKey{}.then("cache");
    for (std::size_t i = count; i > 1; --i) {
        const RandomBlock block = random_block(key, i);
        const std::uint64_t number = block[0] | std::uint64_t{block[1]} << 32;
        std::swap(order[i - 1], order[number % i]);
    }
    return order;
}

}  // namespace

Places::Places(SampleSizes sizes, std::size_t limit_bytes)
    : sizes_(std::move(sizes)), offsets_(sizes_.train.size() + sizes_.validation.size(), no_place) {
    place(Split::train, limit_bytes);
    if (count_placed(Split::train) == sizes_.train.size()) place(Split::validation, limit_bytes);
}

void Places::place(Split split, std::size_t limit_bytes) {
    const std::size_t first = split == Split::train ? 0 : sizes_.train.size();
    std::vector<std::size_t> order = shuffle(list(split).size());
    if (split == Split::train && !sizes_.first.empty())
        std::ranges::stable_partition(order, [&](std::size_t sample) { return sizes_.first[sample]; });
    for (const std::size_t sample : order) {
        const std::size_t bytes = round_up_to_cache_lines(list(split)[sample] * sizes_.row_bytes);
        if (bytes_ + bytes > limit_bytes) return;
        offsets_[first + sample] = bytes_;
        bytes_ += bytes;
    }
}

std::optional<Place> Places::find(SampleKey key) const {
    const std::size_t index = key.sample + (key.split == Split::train ? 0 : sizes_.train.size());
    if (offsets_[index] == no_place) return std::nullopt;
    return Place{
        .index = index, .offset = offsets_[index], .bytes = list(key.split)[key.sample] * sizes_.row_bytes};
}

std::size_t Places::count_placed(Split split) const {
    const auto first =
        offsets_.begin() + (split == Split::train ? 0 : static_cast<std::ptrdiff_t>(sizes_.train.size()));
    return static_cast<std::size_t>(std::count_if(first,
                                                  first + static_cast<std::ptrdiff_t>(list(split).size()),
                                                  [](std::size_t offset) { return offset != no_place; }));
}

}  // namespace trireme::cache
