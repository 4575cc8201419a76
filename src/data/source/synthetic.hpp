// The synthetic sample: rows with CodeSearchNet's fields, generated from a seed, so that a first run needs no
// download. They are Python-like functions whose documented parameters recur in their bodies. A model that
// learns to look back predicts them far better than one that only knows token frequencies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "trireme/base/random.hpp"

namespace trireme::data {

// Returns row `index` as one line of JSON, with the fields repo, path, func_name, original_string, language,
// code, docstring, sha, url, partition. It depends only on seed and index.
std::string synthetic_json_row(std::uint64_t seed, std::uint64_t index);

// Returns the target length of row `index` in characters. The rows are spread evenly over the percentiles of
// the published histogram, so that any few hundred of them follow it.
std::size_t synthetic_length(std::uint64_t seed, std::uint64_t index);

// Draws small random numbers one after another from one stream.
class Draw {
public:
    explicit Draw(RandomKey key) : key_(key) {}

    // Returns a number below `bound`, which must be small: the bias is bound / 2^32.
    std::size_t below(std::size_t bound) {
        return static_cast<std::size_t>(
            (static_cast<std::uint64_t>(random_block(key_, position_++)[0]) * bound) >> 32);
    }
    bool one_in(std::size_t chances) { return below(chances) == 0; }

private:
    RandomKey key_;
    std::uint64_t position_ = 0;
};

struct SyntheticFunction {
    std::string name;       // "load_sorted_rows", or "RowReader.load_rows" for a method
    std::string code;       // signature, docstring and body
    std::string docstring;  // without its quotes
};

// Generates a function of about `length` characters.
SyntheticFunction write_function(Draw& draw, std::size_t length);

}  // namespace trireme::data
