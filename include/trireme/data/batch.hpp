// The tensors of one micro-batch, as plain host vectors with one entry per row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trireme/data/sample_index.hpp"
#include "trireme/plan/micro_batch.hpp"

namespace trireme {

// Rows [begin, begin + length) are one sample; rows in no span are padding.
struct TokenSpan {
    std::size_t begin = 0;
    std::size_t length = 0;
    std::int64_t visit = 0;  // unique to (epoch, sample); what dropout is keyed by
};

struct Batch {
    std::vector<std::int32_t> tokens;     // padding is token 0
    std::vector<std::int32_t> targets;    // -1 where there is nothing to predict
    std::vector<std::int32_t> positions;  // within the sample
    std::vector<std::int64_t> visits;     // of the row's sample
    std::vector<TokenSpan> spans;
    std::size_t target_count = 0;

    std::size_t rows() const { return tokens.size(); }
};

// Decides the padded length of each micro-batch. `longest` is what `fixed` pads to.
MicroBatch make_micro_batch(std::vector<SampleVisit> visits, std::span<const Sample> samples,
                            LengthPolicy policy, std::size_t longest);

// Reads the rows that a micro-batch names.
Batch build_batch(const Corpus& corpus, std::span<const Sample> samples, const MicroBatch& micro_batch);

// Predictions in a list of visits.
std::size_t count_targets(std::span<const SampleVisit> visits, std::span<const Sample> samples);

}  // namespace trireme
