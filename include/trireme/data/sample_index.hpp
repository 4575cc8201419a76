// Lists the training and validation samples of a corpus for a task, and the order in which training visits
// samples. LongRows says what happens to rows that exceed the maximum length.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/base/named_values.hpp"
#include "trireme/base/random.hpp"
#include "trireme/base/task.hpp"
#include "trireme/data/corpus.hpp"
#include "trireme/plan/microbatch.hpp"

namespace trireme::data {

// The treatment of a row that is longer than SampleRules::max_length allows. `split` cuts the row into
// consecutive samples, `truncate` cuts off its end, `drop` skips the row, and `refuse` reports an error. For
// Task::span and Task::classify a row makes at most one sample, so `split` acts as `truncate`. For Task::span,
// a question whose answer is cut off becomes no training sample.
enum class LongRows : std::uint8_t { split, truncate, drop, refuse };
inline constexpr NamedValue<LongRows> long_row_choices[] = {
    {"split", LongRows::split, "cut them into several samples"},
    {"truncate", LongRows::truncate, "keep the first --max-length tokens"},
    {"drop", LongRows::drop, "skip them"},
    {"refuse", LongRows::refuse, "end with an error"}};

struct SampleRules {
    Task task = Task::language;
    std::size_t max_length = 1024;  // maximum number of rows (tokens) of a sample
    LongRows long_rows = LongRows::split;
    bool append_end_token = true;  // Task::language: the end-of-text token follows each row and is predicted
    // Fraction of the rows that are for validation; 1 for all rows. A hash of the row number selects the rows.
    double validation_fraction = 0.02;
    std::size_t image_rows = 0;  // for images: rows of a sample (the class token and the patches)
};

// A sample occupies `length` rows of a micro-batch. Its content comes from row `row` of the corpus:
//   language            reads tokens [begin, begin + length), predicts tokens [begin + 1, begin + length + 1)
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
    std::size_t max_length = 0;  // length of the longest sample of both lists
    // Number of validation questions without a sample: LongRows::drop skips the row, or the question is so long
    // that no token of the context fits.
    std::size_t skipped_questions = 0;
};

// Lists all samples. Throws ConfigError in these cases:
//   - The kind of the rows does not fit the task.
//   - The tokenizer lacks a special token that the task needs.
//   - The special tokens alone fill the maximum length, so that no other token fits.
//   - The images do not make rules.image_rows rows, or the maximum length is below rules.image_rows.
//   - A row is too long under LongRows::refuse.
//   - There is no training sample, although the validation fraction is below 1.
//   - There is no validation sample, and the validation fraction is 1.
SampleIndex index_samples(const Corpus& corpus, const SampleRules& rules);

// The order in which training visits the samples of an epoch.
//   shuffled  a random order, another one in each epoch
//   corpus    the order of the rows in the corpus
enum class SampleOrder : std::uint8_t { shuffled, corpus };
inline constexpr NamedValue<SampleOrder> sample_orders[] = {
    {"shuffled", SampleOrder::shuffled, "a random order, another one in each epoch"},
    {"corpus", SampleOrder::corpus, "the order of the rows in the corpus"}};

// The sequence of all visits of a run. Each epoch visits every sample once. Visit number `v` belongs to epoch
// `v / samples`. A sampler has no state. A run can therefore resume at any visit, and all ranks compute the
// same sequence.
//
// Several homes divide the samples among themselves, in equal numbers if possible. The homes are visited in
// turn: visit number `v` is a visit to home `v % homes`. Each home has its own epochs, which visit every sample
// of the home once, so that a smaller home begins its next epoch earlier.
class Sampler {
public:
    // `samples` is the number of samples. It is at least `homes`, which is at least 1. `seed` matters only if
    // samples are shuffled.
    Sampler(std::uint64_t samples, std::uint64_t seed, SampleOrder order = SampleOrder::shuffled,
            std::uint64_t homes = 1);

    // `ordinal` is the number of a visit since the start of the run, from 0.
    plan::SampleVisit find_visit(std::uint64_t ordinal) const;
    std::vector<plan::SampleVisit> list_visits(std::uint64_t first_ordinal, std::size_t count) const;
    // Returns the home of the sample that a visit visits.
    std::uint64_t find_home(std::uint64_t ordinal) const { return ordinal % homes_; }
    // Returns the home of each sample.
    std::vector<std::uint32_t> list_homes() const;

private:
    std::uint64_t count_samples_of(std::uint64_t home) const;
    // Returns sample number `index` of a home. The order of these numbers is the same in all epochs.
    std::uint64_t find_sample(std::uint64_t home, std::uint64_t index) const;

    std::uint64_t samples_;
    RandomKey key_;
    SampleOrder order_;
    std::uint64_t homes_;
};

}  // namespace trireme::data
