#include "trireme/data/batch.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"

namespace trireme {
namespace {

constexpr std::int32_t nothing_to_predict = -1;

// The tokens that a sample reads, and the one after them.
std::vector<std::uint32_t> sample_tokens(const Corpus& corpus, const Sample& sample) {
    const std::uint64_t length = corpus.row_length(sample.row);
    const bool ends_row = std::uint64_t{sample.begin} + sample.length == length;
    std::vector<std::uint32_t> tokens;
    corpus.read(sample.row, sample.begin, sample.length + (ends_row ? 0 : 1), tokens);
    if (ends_row) tokens.push_back(corpus.info().end_token.value());  // the index asked for none without one
    return tokens;
}

void write_sample(Batch& batch, std::size_t begin, const std::vector<std::uint32_t>& tokens,
                  std::int64_t visit) {
    const std::size_t length = tokens.size() - 1;
    for (std::size_t i = 0; i < length; ++i) {
        batch.tokens[begin + i] = static_cast<std::int32_t>(tokens[i]);
        batch.targets[begin + i] = static_cast<std::int32_t>(tokens[i + 1]);
        batch.positions[begin + i] = static_cast<std::int32_t>(i);
        batch.visits[begin + i] = visit;
    }
    batch.spans.push_back({.begin = begin, .length = length, .visit = visit});
    batch.target_count += length;
}

}  // namespace

MicroBatch make_micro_batch(std::vector<SampleVisit> visits, std::span<const Sample> samples,
                            LengthPolicy policy, std::size_t longest) {
    std::size_t padded = 0;
    switch (policy) {
        case LengthPolicy::fixed:
            padded = longest;
            break;
        case LengthPolicy::pad:
            for (const SampleVisit& visit : visits) {
                padded = std::max<std::size_t>(padded, samples[visit.sample].length);
            }
            break;
        case LengthPolicy::pack:
            break;
    }
    return {.samples = std::move(visits), .padded_length = padded};
}

Batch build_batch(const Corpus& corpus, std::span<const Sample> samples, const MicroBatch& micro_batch) {
    const bool is_packed = micro_batch.padded_length == 0;
    const std::size_t rows = is_packed ? count_targets(micro_batch.samples, samples)
                                       : micro_batch.samples.size() * micro_batch.padded_length;
    Batch batch;
    batch.tokens.assign(rows, 0);
    batch.targets.assign(rows, nothing_to_predict);
    batch.positions.assign(rows, 0);
    batch.visits.assign(rows, 0);
    std::size_t begin = 0;
    for (const SampleVisit& visit : micro_batch.samples) {
        const Sample& sample = samples[visit.sample];
        const auto number = static_cast<std::int64_t>(visit.epoch * samples.size() + visit.sample);
        write_sample(batch, begin, sample_tokens(corpus, sample), number);
        begin += is_packed ? sample.length : micro_batch.padded_length;
    }
    return batch;
}

std::size_t count_targets(std::span<const SampleVisit> visits, std::span<const Sample> samples) {
    std::size_t count = 0;
    for (const SampleVisit& visit : visits) count += samples[visit.sample].length;
    return count;
}

}  // namespace trireme
