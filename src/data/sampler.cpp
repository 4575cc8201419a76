#include <algorithm>
#include <bit>

#include "trireme/base/error.hpp"
#include "trireme/data/sample_index.hpp"

namespace trireme::data {
namespace {

// Returns the number at `position` of a random order of the numbers below `count`. A Feistel network permutes
// the numbers of an even number of bits. While the result is not below `count`, it is permuted again; this
// defines a permutation of the numbers below `count` (cycle walking: Black and Rogaway, 2002).
std::uint64_t permute(std::uint64_t count, const RandomKey& key, std::uint64_t position) {
    constexpr std::uint32_t rounds = 6;
    const int half_bits = std::max(1, (static_cast<int>(std::bit_width(count - 1)) + 1) / 2);
    const std::uint64_t mask = (std::uint64_t{1} << half_bits) - 1;
    std::uint64_t value = position;
    do {
        std::uint64_t left = value >> half_bits;
        std::uint64_t right = value & mask;
        for (std::uint32_t round = 0; round < rounds; ++round) {
            const RandomBlock block = random_block(
                key, {static_cast<std::uint32_t>(right), static_cast<std::uint32_t>(right >> 32), round, 0});
            const std::uint64_t random_bits = block[0] | std::uint64_t{block[1]} << 32;
            const std::uint64_t mixed = left ^ (random_bits & mask);
            left = right;
            right = mixed;
        }
        value = left << half_bits | right;
    } while (value >= count);
    return value;
}

}  // namespace

Sampler::Sampler(std::uint64_t samples, std::uint64_t seed, SampleOrder order, std::uint64_t homes)
    : samples_(samples), key_(RandomKey{seed}.then("sampler")), order_(order), homes_(homes) {
    if (homes == 0 || samples < homes) throw BugError("a sampler needs at least one sample per home");
}

std::uint64_t Sampler::count_samples_of(std::uint64_t home) const {
    return samples_ / homes_ + (home < samples_ % homes_ ? 1 : 0);
}

std::uint64_t Sampler::find_sample(std::uint64_t home, std::uint64_t index) const {
    const std::uint64_t number = index * homes_ + home;
    if (order_ == SampleOrder::corpus || homes_ == 1) return number;
    return permute(samples_, key_.then("homes"), number);
}

plan::SampleVisit Sampler::find_visit(std::uint64_t ordinal) const {
    const std::uint64_t home = find_home(ordinal);
    const std::uint64_t count = count_samples_of(home);
    const std::uint64_t epoch = ordinal / homes_ / count;
    std::uint64_t index = ordinal / homes_ % count;
    if (order_ == SampleOrder::shuffled) {
        const RandomKey key = homes_ == 1 ? key_ : key_.then("home").then(home);
        index = permute(count, key.then(epoch), index);
    }
    return {.epoch = epoch, .sample = find_sample(home, index)};
}

std::vector<plan::SampleVisit> Sampler::list_visits(std::uint64_t first_ordinal, std::size_t count) const {
    std::vector<plan::SampleVisit> visits(count);
    for (std::size_t i = 0; i < count; ++i) visits[i] = find_visit(first_ordinal + i);
    return visits;
}

std::vector<std::uint32_t> Sampler::list_homes() const {
    std::vector<std::uint32_t> homes(samples_);
    for (std::uint64_t home = 0; home < homes_; ++home)
        for (std::uint64_t index = 0; index < count_samples_of(home); ++index)
            homes[find_sample(home, index)] = static_cast<std::uint32_t>(home);
    return homes;
}

}  // namespace trireme::data
