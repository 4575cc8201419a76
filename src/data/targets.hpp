// Selects the targets of a sample: hidden tokens, and the answer to a question.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trireme/base/random.hpp"
#include "trireme/data/corpus_info.hpp"

namespace trireme::data {

// Selects the hidden tokens of a sample and their replacements (Devlin et al. 2019, section 3.1). Every choice
// depends only on the key, the visit and the position in the sample: not on the batch, its padding, or the
// tokens.
class Masking {
public:
    // The corpus must have a [MASK] token. `share` is the fraction of hidden tokens.
    Masking(const CorpusInfo& corpus, RandomKey key, double share);

    // Returns the hidden positions among [1, tokens], ascending; position 0 is [CLS]. At least one is hidden if
    // there are tokens.
    std::vector<std::size_t> places(std::int64_t visit, std::size_t tokens) const;

    // Returns the token shown at a hidden position: [MASK] in 8 of 10 cases, any token that is not special in
    // 1, `token` in 1.
    std::uint32_t shown(std::int64_t visit, std::size_t place, std::uint32_t token) const;

private:
    RandomBlock draw(std::int64_t visit, std::size_t place) const;
    std::uint32_t any_token(std::uint32_t word) const;

    RandomKey key_;
    double share_;
    std::uint32_t mask_;
    std::uint32_t ordinary_;               // number of tokens that are not special
    std::vector<std::uint32_t> specials_;  // ascending
};

// Rows of a question's parts in its sample:
//
//   row     0   1 .. q  q + 1   q + 2 .. end - 1    end
//         [CLS] question [SEP]  context, cut off   [SEP]
constexpr std::size_t span_specials = 3;

struct SpanRows {
    std::int32_t context_begin = 0;
    std::int32_t context_end = 0;
    std::int32_t answer_first = -1;  // -1 if the answer is cut off
    std::int32_t answer_last = -1;   // included

    bool is_answered() const { return answer_first >= 0; }
};

// `length` is the number of rows of the sample. Throws BugError unless it has room for the question and one
// token of the context.
SpanRows span_rows(const Question& places, std::size_t length);

}  // namespace trireme::data
