// The synthetic sample: rows that are generated from a seed, so that a first run needs no download. The rows
// have the fields of CodeSearchNet. The code of a row is a Python-like function whose documented parameters
// recur in its body. A model that learns to attend to earlier tokens predicts such a function far better than a
// model that only learns token frequencies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "trireme/base/random.hpp"

namespace trireme::data {

// Returns row `index` of the sample as one line of JSON, with the fields repo, path, func_name,
// original_string, language, code, docstring, sha, url, partition. The row depends only on `seed` and `index`.
std::string make_synthetic_json_row(std::uint64_t seed, std::uint64_t index);

// Returns the number of characters that the function in row `index` should have. The lengths of any few hundred
// consecutive rows have about the quantiles of real functions (`length_quantiles` in synthetic.cpp).
std::size_t compute_target_length(std::uint64_t seed, std::uint64_t index);

// Draws random numbers below small bounds from one random stream, one after another.
class Draw {
public:
    explicit Draw(RandomKey key) : key_(key) {}

    // Returns a random number below `bound`. `bound` must be small, because the bias is bound / 2^32.
    std::size_t below(std::size_t bound) {
        return static_cast<std::size_t>(
            (static_cast<std::uint64_t>(random_block(key_, position_++)[0]) * bound) >> 32);
    }
    // Returns true with probability 1 / `chances`.
    bool one_in(std::size_t chances) { return below(chances) == 0; }

private:
    RandomKey key_;
    std::uint64_t position_ = 0;
};

struct SyntheticFunction {
    std::string name;       // for example "load_cached_rows", or "RowReader.load_rows" for a method
    std::string code;       // signature, docstring and body
    std::string docstring;  // without its quotes
};

// Generates a function of about `length` characters.
SyntheticFunction generate_function(Draw& draw, std::size_t length);

}  // namespace trireme::data
