// The tensors of one micro-batch, as plain host vectors with one entry per row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trireme/base/random.hpp"
#include "trireme/data/sample_index.hpp"
#include "trireme/plan/microbatch.hpp"

namespace trireme::data {

// Rows [begin, begin + length) are one sample; rows in no span are padding.
struct TokenSpan {
    std::size_t begin = 0;
    std::size_t length = 0;
    std::int64_t visit = 0;  // unique to (epoch, sample); what dropout is keyed by
};

// How a sample becomes rows and targets.
struct BatchRules {
    Task task = Task::language;
    RandomKey mask_key = {};   // Task::masked: what is hidden depends on it, the visit and the place alone
    double mask_share = 0.15;  // of the tokens but [CLS] and [SEP], one at least; of these, 8 in 10 become
                               // [MASK], 1 any token that is not special, 1 stays (BERT)
    std::size_t patch = 0;     // of images: pixels along the edge of a patch
    std::vector<std::uint32_t> labels =
        {};  // the model's class for each of the corpus; empty: the same numbers
};

struct Batch {
    std::vector<std::int32_t> tokens;     // padding is token 0; of images zeros
    std::vector<std::int32_t> targets;    // token or class; -1 where there is nothing to predict
    std::vector<std::int32_t> predicted;  // the rows with a target, ascending
    std::vector<std::int32_t> positions;  // within the sample
    std::vector<std::int32_t> types;      // 1 from a question's context on, else 0
    std::vector<std::int64_t> visits;     // of the row's sample
    std::vector<TokenSpan> spans;
    // Task::span, (spans, 2), rows within the span: first and last of the answer, -1 where it is cut off; and
    // [begin, end) of the context.
    std::vector<std::int32_t> answers;
    std::vector<std::int32_t> contexts;
    // Of images, (spans * patches, channels * patch * patch), from -1 to 1.
    std::vector<float> pixels;
    std::size_t target_count = 0;  // terms of the loss: predicted rows, or answers

    std::size_t rows() const { return tokens.size(); }
};

// Decides the padded length of each micro-batch. `longest` is what `fixed` pads to.
plan::Microbatch make_microbatch(std::vector<plan::SampleVisit> visits, std::span<const Sample> samples,
                                 plan::LengthPolicy policy, std::size_t longest);

// Reads the rows that a micro-batch names.
Batch build_batch(const Corpus& corpus, std::span<const Sample> samples, const BatchRules& rules,
                  const plan::Microbatch& microbatch);

// Terms of the loss in a list of visits; nothing of the rows is read but the places of questions.
std::size_t count_targets(const Corpus& corpus, std::span<const Sample> samples, const BatchRules& rules,
                          std::span<const plan::SampleVisit> visits);

}  // namespace trireme::data
