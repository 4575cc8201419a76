// The synthetic sample: rows as CodeSearchNet has them, made of nothing but a seed, so that a first run needs
// no download. Python-like functions whose parameters, documented by name, recur in their bodies: a model that
// learns to look back predicts them far better than one that only knows how frequent each token is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "trireme/base/random.hpp"

namespace trireme::data {

// Row `index` as one line of JSON, with the fields repo, path, func_name, original_string, language, code,
// docstring, sha, url, partition. It depends on seed and index alone.
std::string synthetic_json_row(std::uint64_t seed, std::uint64_t index);

// The length in characters that row `index` aims at. The rows are spread evenly over the percentiles of the
// published histogram, so that any few hundred of them follow it.
std::size_t synthetic_length(std::uint64_t seed, std::uint64_t index);

// Draws small numbers one after another from one stream.
class Draw {
public:
    explicit Draw(RandomKey key) : key_(key) {}

    // A number below `bound`, which is small: the bias is bound / 2^32.
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
    std::string name;       // "load_sorted_rows", or "RowReader.load_rows" of a method
    std::string code;       // signature, docstring and body
    std::string docstring;  // without its quotes
};

// A function of about `length` characters.
SyntheticFunction write_function(Draw& draw, std::size_t length);

}  // namespace trireme::data
