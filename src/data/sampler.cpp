#include <algorithm>
#include <bit>

#include "trireme/base/error.hpp"
#include "trireme/data/sample_index.hpp"

namespace trireme::data {

Sampler::Sampler(std::uint64_t samples, std::uint64_t seed, SampleOrder order)
    : samples_(samples), key_(RandomKey{seed}.then("sampler")), order_(order) {
    if (samples == 0) throw BugError("a sampler needs at least one sample");
    half_bits_ = std::max(1, (static_cast<int>(std::bit_width(samples - 1)) + 1) / 2);
}

plan::SampleVisit Sampler::find_visit(std::uint64_t ordinal) const {
    const std::uint64_t epoch = ordinal / samples_;
    const std::uint64_t position = ordinal % samples_;
    return {.epoch = epoch, .sample = order_ == SampleOrder::corpus ? position : permute(epoch, position)};
}

std::vector<plan::SampleVisit> Sampler::list_visits(std::uint64_t first_ordinal, std::size_t count) const {
    std::vector<plan::SampleVisit> visits(count);
    for (std::size_t i = 0; i < count; ++i) visits[i] = find_visit(first_ordinal + i);
    return visits;
}

// Permutes the numbers of 2 * half_bits_ bits with a Feistel network. While the result is not below the number
// of samples, it is permuted again; this defines a permutation of the samples (cycle walking: Black and
// Rogaway, 2002).
std::uint64_t Sampler::permute(std::uint64_t epoch, std::uint64_t position) const {
    constexpr std::uint32_t rounds = 6;
    const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
    const RandomKey key = key_.then(epoch);
    std::uint64_t value = position;
    do {
        std::uint64_t left = value >> half_bits_;
        std::uint64_t right = value & mask;
        for (std::uint32_t round = 0; round < rounds; ++round) {
            const RandomBlock block = random_block(
                key, {static_cast<std::uint32_t>(right), static_cast<std::uint32_t>(right >> 32), round, 0});
            const std::uint64_t random_bits = block[0] | std::uint64_t{block[1]} << 32;
            const std::uint64_t mixed = left ^ (random_bits & mask);
            left = right;
            right = mixed;
        }
        value = left << half_bits_ | right;
    } while (value >= samples_);
    return value;
}

}  // namespace trireme::data
