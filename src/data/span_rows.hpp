// Where the parts of a question lie in the rows of its sample:
//
//   row     0   1 .. q  q + 1   q + 2 .. end - 1    end
//         [CLS] question [SEP]  context, cut off   [SEP]
#pragma once

#include <cstddef>
#include <cstdint>

#include "trireme/data/corpus_info.hpp"

namespace trireme {

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

}  // namespace trireme
