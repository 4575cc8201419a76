// Which rows of a sample are targets: hidden tokens, and the answer to a question.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trireme/base/random.hpp"
#include "trireme/data/corpus_info.hpp"

namespace trireme::data {

// Which tokens of a sample are hidden, and what is shown in their place (Devlin et al. 2019, section 3.1).
// Every choice depends on the key, the number of the visit and the place in the sample alone: not on the batch,
// its padding, or the tokens.
class Masking {
public:
    // Of a corpus with a [MASK]. `share` of the tokens are hidden.
    Masking(const CorpusInfo& corpus, RandomKey key, double share);

    // The hidden ones of the places [1, tokens], ascending: place 0 is [CLS]. At least one of one token.
    std::vector<std::size_t> places(std::int64_t visit, std::size_t tokens) const;

    // What is shown at a hidden place: [MASK] at 8 of 10, at one any token but a special one, at one `token`.
    std::uint32_t shown(std::int64_t visit, std::size_t place, std::uint32_t token) const;

private:
    RandomBlock draw(std::int64_t visit, std::size_t place) const;
    std::uint32_t any_token(std::uint32_t word) const;

    RandomKey key_;
    double share_;
    std::uint32_t mask_;
    std::uint32_t ordinary_;               // tokens that are not special
    std::vector<std::uint32_t> specials_;  // ascending
};

// Where the parts of a question lie in the rows of its sample:
//
//   row     0   1 .. q  q + 1   q + 2 .. end - 1    end
//         [CLS] question [SEP]  context, cut off   [SEP]
constexpr std::size_t span_specials = 3;

struct SpanRows {
    std::int32_t context_begin = 0;
    std::int32_t context_end = 0;
    std::int32_t answer_first = -1;  // -1 where the answer is cut off
    std::int32_t answer_last = -1;   // included

    bool is_answered() const { return answer_first >= 0; }
};

// Of a sample of `length` rows, which must hold the question and a token of the context (BugError).
SpanRows span_rows(const Question& places, std::size_t length);

}  // namespace trireme::data
