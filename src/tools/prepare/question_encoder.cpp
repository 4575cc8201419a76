#include "tools/prepare/question_encoder.hpp"

#include <span>
#include <utility>

#include "trireme/base/error.hpp"

namespace trireme {
namespace {

std::vector<std::size_t> token_bytes(const Tokenizer& tokenizer) {
    std::vector<std::size_t> bytes;
    bytes.reserve(tokenizer.vocabulary_size());
    for (std::uint32_t token = 0; token < tokenizer.vocabulary_size(); ++token)
        bytes.push_back(tokenizer.decode(std::span(&token, 1)).size());
    return bytes;
}

}  // namespace

QuestionEncoder::QuestionEncoder(const Tokenizer& tokenizer)
    : tokenizer_(tokenizer), bytes_of_(token_bytes(tokenizer)) {}

void QuestionEncoder::encode(const SourceQuestion& question, CorpusRow& row) {
    if (question.context != context_) {
        context_ = question.context;
        context_tokens_ = tokenizer_.encode(context_);
    }
    row.tokens.clear();
    tokenizer_.encode(question.text, row.tokens);
    const auto begin = static_cast<std::uint32_t>(row.tokens.size());
    row.tokens.insert(row.tokens.end(), context_tokens_.begin(), context_tokens_.end());
    row.question.context_begin = begin;
    row.question.answers = question.answers;
    std::size_t byte = 0;
    for (std::size_t token = 0; token < context_tokens_.size() && byte < question.answer_end; ++token) {
        const auto place = begin + static_cast<std::uint32_t>(token);
        if (byte <= question.answer_begin) row.question.answer_first = place;
        row.question.answer_last = place;
        byte += bytes_of_[context_tokens_[token]];
    }
    if (byte < question.answer_end) throw BugError("an answer beyond the tokens of its context");
}

}  // namespace trireme
