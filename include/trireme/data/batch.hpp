// Builds the tensors of one micro-batch, as host vectors with one entry per row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trireme/base/random.hpp"
#include "trireme/data/sample_index.hpp"
#include "trireme/plan/microbatch.hpp"

namespace trireme::data {

// The rows [begin, begin + length) of one sample. Rows in no span are padding.
struct TokenSpan {
    std::size_t begin = 0;
    std::size_t length = 0;
    std::int64_t visit = 0;  // unique to (epoch, sample); keys the random numbers of dropout
};

// Says how a sample becomes rows and targets.
struct BatchRules {
    Task task = Task::language;
    RandomKey mask_key = {};  // Task::masked: with the visit and the position, selects the hidden tokens
    // Fraction of hidden tokens among all but [CLS] and [SEP], at least one token. Of these, 8 in 10 become
    // [MASK], 1 in 10 any token that is not special, and 1 in 10 stays (BERT).
    double mask_share = 0.15;
    std::size_t patch = 0;  // of images: edge of a patch in pixels
    // Maps each class of the corpus to one of the model; if empty, the numbers are the same.
    std::vector<std::uint32_t> labels = {};
};

struct Batch {
    std::vector<std::int32_t> tokens;     // 0 for padding and for images
    std::vector<std::int32_t> targets;    // token or class; -1 if there is none
    std::vector<std::int32_t> predicted;  // the rows with a target, ascending
    std::vector<std::int32_t> positions;  // position within the sample
    std::vector<std::int32_t> types;      // 1 from the context of a question on, else 0
    std::vector<std::int64_t> visits;     // visit of the row's sample
    std::vector<TokenSpan> spans;
    // Task::span, (spans, 2), rows relative to the span: first and last row of the answer, or -1 if it is cut
    // off, and the range [begin, end) of the context.
    std::vector<std::int32_t> answers;
    std::vector<std::int32_t> contexts;
    // (spans * patches, channels * patch * patch), from -1 to 1; for images only.
    std::vector<float> pixels;
    std::size_t target_count = 0;  // number of terms of the loss: predicted rows, or answers

    std::size_t rows() const { return tokens.size(); }
};

// Chooses the padded length of a micro-batch; 0 means packed. `longest` is the length for LengthPolicy::fixed.
plan::Microbatch make_microbatch(std::vector<plan::SampleVisit> visits, std::span<const Sample> samples,
                                 plan::LengthPolicy policy, std::size_t longest);

// Reads the samples of a micro-batch and fills its tensors.
Batch build_batch(const Corpus& corpus, std::span<const Sample> samples, const BatchRules& rules,
                  const plan::Microbatch& microbatch);

// Returns the number of terms of the loss in a list of visits. Reads no tokens or pixels.
std::size_t count_targets(const Corpus& corpus, std::span<const Sample> samples, const BatchRules& rules,
                          std::span<const plan::SampleVisit> visits);

}  // namespace trireme::data
