// Which samples a corpus offers for a task: its rows, cut to the length a model can read, and split into a part
// to train on and a part to validate on.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/base/named_values.hpp"
#include "trireme/base/random.hpp"
#include "trireme/base/task.hpp"
#include "trireme/data/corpus.hpp"
#include "trireme/plan/microbatch.hpp"

namespace trireme::data {

// What happens to a row longer than the limit: cut into consecutive samples, cut off, left out, or an error.
// Questions and labelled texts make one sample each: for them `split` is `truncate`, and a question whose
// answer was cut off is not trained on.
enum class LongRows : std::uint8_t { split, truncate, drop, refuse };
inline constexpr NamedValue<LongRows> treatments_of_long_rows[] = {
    {"split", LongRows::split, "cut them into several samples"},
    {"truncate", LongRows::truncate, "keep the first --max-length tokens"},
    {"drop", LongRows::drop, "skip them"},
    {"refuse", LongRows::refuse, "end with an error"}};

struct SampleRules {
    Task task = Task::language;
    std::size_t max_length = 1024;  // rows of the model per sample
    LongRows long_rows = LongRows::split;
    bool append_end = true;  // Task::language: the end token follows each row, and its prediction counts
    double validation_share = 0.02;  // of the rows, chosen by a hash of the row number alone; 1: all of them
    std::size_t image_rows = 0;      // of images: the class token and the patches
};

// `length` rows that pass the model. For each task, in terms of the corpus's row:
//   language            tokens [begin, begin + length) are read and [begin + 1, begin + length] predicted
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
    std::size_t longest = 0;  // of both
    std::size_t left_out =
        0;  // questions to validate on that make no sample: too long, or without room for a context
};

// Throws ConfigError if the corpus has no rows for the task or no special token that it needs, if nothing is
// left to train on (or, with a share of 1, to validate on), or if a row is too long under LongRows::refuse.
SampleIndex index_samples(const Corpus& corpus, const SampleRules& rules);

// The order in which samples are visited. Visit number v of a run is sample permutation(v % count) of epoch
// v / count: no state, so a run can go on at any visit, and the number of ranks does not matter.
class Sampler {
public:
    Sampler(std::uint64_t samples, std::uint64_t seed);  // samples > 0

    plan::SampleVisit visit(std::uint64_t ordinal) const;
    std::vector<plan::SampleVisit> visits(std::uint64_t first_ordinal, std::size_t count) const;

private:
    std::uint64_t permuted(std::uint64_t epoch, std::uint64_t position) const;

    std::uint64_t samples_;
    RandomKey key_;
    int half_bits_;  // the permutation works on 2 * half_bits_ bits
};

}  // namespace trireme::data
