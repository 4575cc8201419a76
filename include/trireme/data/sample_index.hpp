// Which predictions a corpus offers: its rows, cut to the length a model can read, and split into a part to
// train on and a part to validate on.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/data/corpus.hpp"

namespace trireme {

// What happens to a row longer than the limit: cut into consecutive samples, cut off, left out, or an error.
enum class LongRows : std::uint8_t { split, truncate, drop, refuse };

struct SampleRules {
    std::size_t max_length = 1024;  // predictions per sample
    LongRows long_rows = LongRows::split;
    bool append_end = true;          // the end token follows each row, and its prediction counts
    double validation_share = 0.02;  // of the rows, chosen by a hash of the row number alone
};

// `length` predictions from token `begin` of a row: tokens [begin, begin + length) are read, and
// [begin + 1, begin + length] are to be predicted.
struct Sample {
    std::uint64_t row = 0;
    std::uint32_t begin = 0;
    std::uint32_t length = 0;
};

struct SampleIndex {
    std::vector<Sample> train;
    std::vector<Sample> validation;
    std::size_t longest = 0;  // of both
};

// Throws ConfigError if nothing is left to train on, if a row is too long under LongRows::refuse, or if an end
// token is asked for and the tokenizer has none.
SampleIndex index_samples(const Corpus& corpus, const SampleRules& rules);

}  // namespace trireme
