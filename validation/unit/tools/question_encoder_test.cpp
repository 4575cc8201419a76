#include <gtest/gtest.h>

#include <cstdlib>

#include "tools/prepare/row_encoder.hpp"
#include "trireme/data/source.hpp"

namespace trireme::tools {
namespace {

// Returns a question whose answer is the first occurrence of `answer` in the context.
data::SourceQuestion question(const std::string& text, const std::string& context, const std::string& answer) {
    const std::size_t begin = context.find(answer);
    return {.text = text,
            .context = context,
            .answer_begin = begin,
            .answer_end = begin + answer.size(),
            .answers = {answer}};
}

std::string span_of(const data::CorpusRow& row, const data::Tokenizer& tokenizer) {
    const std::span<const std::uint32_t> tokens(row.tokens);
    const data::Question& places = row.question;
    return tokenizer.decode(tokens.subspan(places.answer_first, places.answer_last - places.answer_first + 1));
}

TEST(QuestionEncoder, PutsTheContextAfterTheQuestion) {
    const data::Tokenizer tokenizer = data::Tokenizer::make_raw_bytes();
    QuestionEncoder encoder(tokenizer);
    data::CorpusRow row;

    encoder.encode(question("Who?", "it was Ann.", "Ann"), row);

    EXPECT_EQ(tokenizer.decode(row.tokens), "Who?it was Ann.");
    EXPECT_EQ(row.question.context_begin, 4U);
    EXPECT_EQ(row.question.answer_first, 11U);
    EXPECT_EQ(row.question.answer_last, 13U);
    EXPECT_EQ(row.question.answers, std::vector<std::string>{"Ann"});
}

TEST(QuestionEncoder, TakesEveryTokenThatOverlapsTheAnswer) {
    const std::vector<std::string> texts(4, "abcabc abcabc");
    const data::Tokenizer tokenizer = data::Tokenizer::train(texts, 259);  // "ab" and "abc" are tokens
    QuestionEncoder encoder(tokenizer);
    data::CorpusRow row;

    encoder.encode(question("x", "abcabc", "ca"), row);

    ASSERT_EQ(row.tokens.size(), 3U);
    EXPECT_EQ(row.question.answer_first, 1U);
    EXPECT_EQ(row.question.answer_last, 2U);
    encoder.encode(question("x", "abcabc", "b"), row);
    EXPECT_EQ(row.question.answer_first, 1U);
    EXPECT_EQ(row.question.answer_last, 1U);
}

TEST(QuestionEncoder, FindsTheAnswersOfARealFile) {
    const char* data = std::getenv("TRIREME_TEST_DATA");
    if (data == nullptr) GTEST_SKIP() << "TRIREME_TEST_DATA is not set: squad/xquad.en.json is not there";
    const data::Tokenizer tokenizer = data::Tokenizer::read_gpt2(std::string(data) + "/gpt2_bpe");
    data::RowReader reader({.inputs = {std::string(data) + "/squad/xquad.en.json"}, .synthetic = ""});
    QuestionEncoder encoder(tokenizer);
    data::SourceRow source;
    data::CorpusRow row;

    while (reader.next(source)) {
        encoder.encode(source.question, row);

        const std::string span = span_of(row, tokenizer);
        const std::string& answer = source.question.answers.front();
        ASSERT_NE(span.find(answer), std::string::npos) << source.location << ": " << span;
        ++row.question.answer_first;
        ASSERT_EQ(row.question.answer_first > row.question.answer_last ||
                      span_of(row, tokenizer).find(answer) == std::string::npos ||
                      span.find(answer) != span.rfind(answer),
                  true)
            << source.location << ": " << span;
    }
}

}  // namespace
}  // namespace trireme::tools
