// Builds the tensors of one micro-batch as vectors in host memory. Here, a row is a token of the micro-batch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trireme/base/random.hpp"
#include "trireme/data/sample_index.hpp"
#include "trireme/plan/microbatch.hpp"

namespace trireme::data {

// The rows [begin, begin + length) that one sample occupies. Rows that no sample occupies are padding.
struct TokenSpan {
    std::size_t begin = 0;
    std::size_t length = 0;
    std::int64_t visit = 0;  // unique per (epoch, sample); part of the key of dropout's random numbers
};

// The rules by which samples become rows and targets.
struct BatchRules {
    Task task = Task::language;
    RandomKey mask_key = {};  // Task::masked: key of the random selection of masked tokens
    // Task::masked: fraction of the tokens (without [CLS] and [SEP]) that are selected and predicted. At least
    // one token per sample is selected. As in BERT, 8 in 10 selected tokens become [MASK], 1 in 10 becomes a
    // random token that is not special, and 1 in 10 does not change.
    double mask_fraction = 0.15;
    std::size_t patch = 0;  // for images: edge length of a patch in pixels
    // `model_labels[c]` is the model's class for class `c` of the corpus. If empty, model and corpus number
    // the classes equally.
    std::vector<std::uint32_t> model_labels = {};
};

struct Batch {
    std::vector<std::int32_t> tokens;          // (rows); 0 for padding and for images
    std::vector<std::int32_t> targets;         // (rows); token or class to be predicted; -1 if there is none
    std::vector<std::int32_t> predicted_rows;  // the rows with a target, ascending
    std::vector<std::int32_t> positions;       // (rows); position within the sample
    std::vector<std::int32_t> types;   // (rows); Task::span: 1 in the context and the [SEP] after it, else 0
    std::vector<std::int64_t> visits;  // (rows); TokenSpan::visit of the row's sample; 0 for padding
    std::vector<TokenSpan> spans;      // one per sample
    // Task::span: `answers` and `contexts` are (spans, 2). Rows count from the first row of the span. `answers`
    // holds the first and the last row of the answer, or twice -1 if the answer is cut off. `contexts` holds
    // the range [begin, end) of the context.
    std::vector<std::int32_t> answers;
    std::vector<std::int32_t> contexts;
    // For images: (spans * patches, channels * patch * patch), values from -1 to 1.
    std::vector<float> pixels;
    std::size_t target_count = 0;  // number of terms of the loss: rows with a target, or answers

    std::size_t rows() const { return tokens.size(); }
};

// Returns the length to which all samples of a step are padded. LengthPolicy::fixed pads to
// `longest_of_corpus`, the length of the longest sample of the corpus. LengthPolicy::step pads to the longest
// sample of `step_visits`. Returns 0 for the other policies.
std::size_t find_common_length(const std::vector<plan::SampleVisit>& step_visits,
                               std::span<const Sample> samples, plan::LengthPolicy policy,
                               std::size_t longest_of_corpus);

// Makes a micro-batch of `visits`. Its padded length depends on `policy`:
//   fixed, step     `common_length`, the result of find_common_length()
//   pad, dynapipe   the length of the longest sample of `visits`
//   pack, balanced  0, because the samples are packed
plan::Microbatch make_microbatch(std::vector<plan::SampleVisit> visits, std::span<const Sample> samples,
                                 plan::LengthPolicy policy, std::size_t common_length);

// Reads the samples of a micro-batch from the corpus and fills the tensors of the micro-batch.
// plan::SampleVisit::sample is an index into `samples`.
Batch build_batch(const Corpus& corpus, std::span<const Sample> samples, const BatchRules& rules,
                  const plan::Microbatch& microbatch);

// Returns the number of terms of the loss of `visits`, without reading tokens or pixels.
std::size_t count_targets(const Corpus& corpus, std::span<const Sample> samples, const BatchRules& rules,
                          std::span<const plan::SampleVisit> visits);

}  // namespace trireme::data
