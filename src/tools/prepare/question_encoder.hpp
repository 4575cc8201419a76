// A question and its context as tokens.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/data/corpus_writer.hpp"
#include "trireme/data/source_row.hpp"
#include "trireme/data/tokenizer.hpp"

namespace trireme {

class QuestionEncoder {
public:
    explicit QuestionEncoder(const Tokenizer& tokenizer);

    // The question's tokens, the context's behind them, and those of the context's that overlap the answer.
    void encode(const SourceQuestion& question, CorpusRow& row);

private:
    Tokenizer tokenizer_;
    std::vector<std::size_t> bytes_of_;  // by token
    std::string context_;                // of the last question: the next one often shares it
    std::vector<std::uint32_t> context_tokens_;
};

}  // namespace trireme
