// Lists the samples that a corpus offers for a task. Its rows are cut to the length that a model can read and
// divided into training and validation samples.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/base/named_values.hpp"
#include "trireme/base/random.hpp"
#include "trireme/base/task.hpp"
#include "trireme/data/corpus.hpp"
#include "trireme/plan/microbatch.hpp"

namespace trireme::data {

// How to treat a row longer than the limit: cut it into consecutive samples, cut it off, skip it, or report an
// error. Questions and labelled texts make one sample each, for which `split` means `truncate`. A question
// whose answer was cut off is not trained on.
enum class LongRows : std::uint8_t { split, truncate, drop, refuse };
inline constexpr NamedValue<LongRows> treatments_of_long_rows[] = {
    {"split", LongRows::split, "cut them into several samples"},
    {"truncate", LongRows::truncate, "keep the first --max-length tokens"},
    {"drop", LongRows::drop, "skip them"},
    {"refuse", LongRows::refuse, "end with an error"}};

struct SampleRules {
    Task task = Task::language;
    std::size_t max_length = 1024;  // maximum rows of the model per sample
    LongRows long_rows = LongRows::split;
    bool append_end = true;  // Task::language: the end token follows each row and is predicted
    // Fraction of validation rows, selected by a hash of the row number alone; 1 selects all rows.
    double validation_share = 0.02;
    std::size_t image_rows = 0;  // for images: the class token and the patches
};

// A sample occupies `length` rows of the model. The tokens come from `row` of the corpus:
//   language            reads tokens [begin, begin + length), predicts [begin + 1, begin + length]
//   masked, classify    [CLS], tokens [begin, begin + length - 2), [SEP]
//   span                [CLS], the question, [SEP], the first tokens of the context, [SEP]; begin is 0
//   classify an image   the class token and the patches; begin is 0
struct Sample {
    std::uint64_t row = 0;
    std::uint32_t begin = 0;
    std::uint32_t length = 0;
};

struct SampleIndex {
    std::vector<Sample> train;
    std::vector<Sample> validation;
    std::size_t longest = 0;  // longest sample of both lists
    // Number of validation questions that make no sample: too long, or without room for a context.
    std::size_t left_out = 0;
};

// Lists all samples. Throws ConfigError if the corpus has no rows for the task or lacks a special token that it
// needs. It also throws if a row is too long under LongRows::refuse, or if there is no sample to train on (with
// a validation share of 1, to validate on).
SampleIndex index_samples(const Corpus& corpus, const SampleRules& rules);

// The order in which samples are visited. Visit v of a run is sample permutation(v % count) of epoch v / count.
// There is no state, so that a run can resume at any visit, and the number of ranks does not matter.
class Sampler {
public:
    Sampler(std::uint64_t samples, std::uint64_t seed);  // samples > 0

    plan::SampleVisit visit(std::uint64_t ordinal) const;
    std::vector<plan::SampleVisit> visits(std::uint64_t first_ordinal, std::size_t count) const;

private:
    std::uint64_t permuted(std::uint64_t epoch, std::uint64_t position) const;

    std::uint64_t samples_;
    RandomKey key_;
    int half_bits_;  // the permutation acts on 2 * half_bits_ bits
};

}  // namespace trireme::data
