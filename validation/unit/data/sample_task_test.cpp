// Tests the samples of the tasks other than language modelling.
#include <gtest/gtest.h>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "trireme/data/sample_index.hpp"
#include "unit/data/small_corpus.hpp"

namespace trireme::data {
namespace {

using validation::bert_bytes;
using validation::catch_message;
using validation::corpus_of;
using validation::describe_image_corpus;
using validation::described;
using validation::image_row;
using validation::labelled_row;
using validation::make_corpus_with_lengths;
using validation::question_row;
using validation::says;
using validation::ScratchFolder;
using validation::TokenRow;

using Names = std::vector<std::string>;

// Returns "row:begin+length" per sample.
Names spans_of(const std::vector<Sample>& samples) {
    Names names;
    for (const Sample& s : samples) names.push_back(cat(s.row, ":", s.begin, "+", s.length));
    return names;
}

SampleRules rules_of(Task task, std::size_t max_length, LongRows long_rows = LongRows::split) {
    return {.task = task, .max_length = max_length, .long_rows = long_rows, .validation_fraction = 0};
}

std::string refusal(const Corpus& corpus, const SampleRules& rules) {
    return catch_message<ConfigError>([&] { index_samples(corpus, rules); });
}

Names masked_samples(const std::vector<std::size_t>& lengths, const SampleRules& rules) {
    const ScratchFolder folder;
    return spans_of(index_samples(make_corpus_with_lengths(folder, lengths, bert_bytes()), rules).train);
}

TEST(MaskedSamples, HaveTwoSpecialTokensAroundTheRow) {
    EXPECT_EQ(masked_samples({3, 0, 1}, rules_of(Task::masked, 8)), (Names{"0:0+5", "2:0+3"}));
}

TEST(MaskedSamples, AreShortenedSoThatTheSpecialTokensFit) {
    EXPECT_EQ(masked_samples({10}, rules_of(Task::masked, 6)), (Names{"0:0+6", "0:4+6", "0:8+4"}));
    EXPECT_EQ(masked_samples({10}, rules_of(Task::masked, 6, LongRows::truncate)), (Names{"0:0+6"}));
    EXPECT_EQ(masked_samples({10, 4}, rules_of(Task::masked, 6, LongRows::drop)), (Names{"1:0+6"}));
}

TEST(MaskedSamples, AreRejectedWithRowNumberAndLengthIfTooLong) {
    const ScratchFolder folder;
    const Corpus corpus = make_corpus_with_lengths(folder, {4, 5}, bert_bytes());

    const std::string message = refusal(corpus, rules_of(Task::masked, 6, LongRows::refuse));

    EXPECT_TRUE(says(message,
                     "corpus.h5: row 1 has 5 tokens, more than 4 (--max-length 6 minus 2 special tokens); use "
                     "--long split, truncate or drop, or a larger --max-length"));
}

TEST(ClassifySamples, ExistOnceForEachRowWithText) {
    const ScratchFolder folder;
    const Corpus corpus =
        corpus_of(folder, described(RowKind::labelled_text, bert_bytes()),
                  {labelled_row(TokenRow(9, 1), 0), labelled_row({}, 0), labelled_row({1, 2}, 1)});

    EXPECT_EQ(spans_of(index_samples(corpus, rules_of(Task::classify, 6)).train), (Names{"0:0+6", "2:0+4"}));
    EXPECT_EQ(spans_of(index_samples(corpus, rules_of(Task::classify, 6, LongRows::drop)).train),
              (Names{"2:0+4"}));
    EXPECT_TRUE(says(refusal(corpus, rules_of(Task::classify, 6, LongRows::refuse)),
                     "row 0 has 9 tokens, more than 4"));
}

// A question of two tokens with a context of four tokens. The answer is the third token of the context.
class OneQuestion : public ::testing::Test {
protected:
    SampleIndex indexed(SampleRules rules, double share) const {
        rules.validation_fraction = share;
        return index_samples(corpus_, rules);
    }
    Names train(std::size_t max_length) const {
        return spans_of(indexed(rules_of(Task::span, max_length), 0).train);
    }
    Names validation(std::size_t max_length) const {
        return spans_of(indexed(rules_of(Task::span, max_length), 1).validation);
    }
    std::string message(std::size_t max_length, LongRows long_rows, double share) const {
        return catch_message<ConfigError>([&] { indexed(rules_of(Task::span, max_length, long_rows), share); });
    }

private:
    ScratchFolder folder_;
    Corpus corpus_ =
        corpus_of(folder_, described(RowKind::question, bert_bytes()),
                  {question_row({11, 12, 21, 22, 23, 24},
                                {.context_begin = 2, .answer_first = 4, .answer_last = 4, .answers = {}})});
};

TEST_F(OneQuestion, IsASampleWithThreeSpecialTokens) {
    EXPECT_EQ(train(20), (Names{"0:0+9"}));
    EXPECT_EQ(train(9), (Names{"0:0+9"}));
}

TEST_F(OneQuestion, LosesTheEndOfItsContextIfTooLong) { EXPECT_EQ(train(8), (Names{"0:0+8"})); }

TEST_F(OneQuestion, IsUsedOnlyForValidationIfItsAnswerIsCutOff) {
    EXPECT_TRUE(says(message(7, LongRows::split, 0), "leaves no sample to train on"));
    EXPECT_EQ(validation(7), (Names{"0:0+7"}));
    EXPECT_EQ(validation(6), (Names{"0:0+6"}));
}

TEST_F(OneQuestion, IsDroppedIfNoContextFits) {
    EXPECT_TRUE(says(message(5, LongRows::split, 1), "leaves no sample to validate on"));
    EXPECT_TRUE(says(message(4, LongRows::truncate, 1), "leaves no sample to validate on"));
}

TEST_F(OneQuestion, IsDroppedOrRejectedOnRequestIfTooLong) {
    EXPECT_TRUE(says(message(8, LongRows::drop, 0), "leaves no sample to train on"));
    EXPECT_TRUE(says(message(8, LongRows::refuse, 0),
                     "row 0 has 6 tokens, more than 5 (--max-length 8 minus 3 special tokens); use --long "
                     "truncate or drop, or a larger --max-length"));
    EXPECT_TRUE(says(message(5, LongRows::refuse, 0), "row 0 has 6 tokens, more than 2"));
}

TEST_F(OneQuestion, CanAlsoServeLanguageModelling) {
    EXPECT_EQ(spans_of(indexed(rules_of(Task::language, 20), 0).train), (Names{"0:0+6"}));
}

class TwoImages : public ::testing::Test {
protected:
    static SampleRules rules(std::size_t image_rows, std::size_t max_length = 1024) {
        SampleRules rules = rules_of(Task::classify, max_length);
        rules.image_rows = image_rows;
        return rules;
    }

    ScratchFolder folder_;
    Corpus corpus_ = corpus_of(
        folder_, describe_image_corpus({1, 4, 8}),
        {image_row(std::vector<std::uint8_t>(32, 1), 0), image_row(std::vector<std::uint8_t>(32, 2), 1)});
};

TEST_F(TwoImages, HaveARowForEachPatchAndForTheClassToken) {
    for (const std::size_t rows : {1 + 32, 1 + 8, 1 + 2}) {
        const SampleIndex index = index_samples(corpus_, rules(rows));

        EXPECT_EQ(spans_of(index.train), (Names{cat("0:0+", rows), cat("1:0+", rows)}));
        EXPECT_EQ(index.max_length, rows);
    }
}

TEST_F(TwoImages, AreRejectedIfNoPatchSizeGivesTheModelsRows) {
    for (const std::size_t rows : {0, 1, 2, 17, 65})
        EXPECT_TRUE(says(refusal(corpus_, rules(rows)),
                         cat("corpus.h5 holds images of 1 x 4 x 8 pixels, which cannot be cut into square "
                             "patches for the model's ",
                             rows, " rows")));
    EXPECT_TRUE(says(refusal(corpus_, rules(33, 32)), "takes 33 rows, more than --max-length 32"));
}

TEST(SampleTask, IsRejectedWithAListOfTasksThatTheCorpusServes) {
    const ScratchFolder folder;
    const auto message = [&](const CorpusDescription& description, Task task) {
        return refusal(corpus_of(folder, description, {}), rules_of(task, 16));
    };

    EXPECT_TRUE(says(message(describe_image_corpus({1, 2, 2}), Task::language),
                     "corpus.h5 holds rows of the kind \"image\", which cannot be used for the task "
                     "language; use --task classify, or another corpus"));
    EXPECT_TRUE(says(
        message(described(RowKind::text, bert_bytes()), Task::classify),
        "the kind \"text\", which cannot be used for the task classify; use --task language or masked, or"));
    EXPECT_TRUE(says(message(described(RowKind::labelled_text, bert_bytes()), Task::span),
                     "the kind \"labelled text\", which cannot be used for the task span; use --task language "
                     "or masked or classify"));
    EXPECT_TRUE(says(message(described(RowKind::question, bert_bytes()), Task::classify),
                     "the kind \"question\", which cannot be used for the task classify; use --task language "
                     "or masked or span"));
}

TEST(SampleTask, NamesTheSpecialTokensThatTheTokenizerLacks) {
    const ScratchFolder folder;
    const std::vector<std::string> two{"[CLS]", "[SEP]"};
    const Corpus plain = make_corpus_with_lengths(folder, {3});
    const std::string none = refusal(plain, rules_of(Task::masked, 16));
    const Corpus framed =
        make_corpus_with_lengths(folder, {3}, Tokenizer::make_raw_bytes().with_special_tokens(two));
    const std::string no_mask = refusal(framed, rules_of(Task::masked, 16));

    EXPECT_TRUE(says(none, "the tokenizer bytes of "));
    EXPECT_TRUE(says(none,
                     "corpus.h5 has no token [CLS], [SEP], [MASK], which the task masked needs; prepare the "
                     "corpus with --special-tokens bert"));
    EXPECT_TRUE(says(no_mask, "has no token [MASK], which"));
}

TEST(SampleTask, RejectsAMaxLengthThatFitsOnlySpecialTokens) {
    const ScratchFolder folder;
    const Corpus corpus = make_corpus_with_lengths(folder, {3}, bert_bytes());

    EXPECT_TRUE(
        says(refusal(corpus, rules_of(Task::masked, 2)),
             "--max-length 2 leaves no space for a token besides the 2 special ones of the task masked; "
             "give at least 3"));
    EXPECT_EQ(spans_of(index_samples(corpus, rules_of(Task::masked, 3)).train),
              (Names{"0:0+3", "0:1+3", "0:2+3"}));
    EXPECT_TRUE(says(refusal(corpus, rules_of(Task::language, 0)), "give at least 1"));
}

TEST(ValidationShare, ReservesAllRowsIfOne) {
    const ScratchFolder folder;
    const Corpus corpus = make_corpus_with_lengths(folder, std::vector<std::size_t>(300, 3));

    const SampleIndex index = index_samples(corpus, {.validation_fraction = 1});

    EXPECT_TRUE(index.train.empty());
    EXPECT_EQ(index.validation.size(), 300U);
    EXPECT_EQ(index.max_length, 3U);
}

TEST(ValidationShare, RejectsACorpusWithoutValidationSamplesIfOne) {
    const ScratchFolder folder;

    EXPECT_TRUE(says(refusal(make_corpus_with_lengths(folder, {0, 0}), {.validation_fraction = 1}),
                     "corpus.h5 leaves no sample to validate on (2 rows"));
}

}  // namespace
}  // namespace trireme::data
