// Tests the rows and targets of the tasks other than language modelling.
#include <gtest/gtest.h>

#include <numeric>

#include "trireme/base/error.hpp"
#include "trireme/data/batch.hpp"
#include "unit/data/small_corpus.hpp"

namespace trireme::data {
namespace {

using validation::bert_bytes;
using validation::corpus_of;
using validation::describe_image_corpus;
using validation::described;
using validation::image_row;
using validation::labelled_row;
using validation::question_row;
using validation::ScratchFolder;
using validation::small_corpus;
using validation::TokenRow;

using Ints = std::vector<std::int32_t>;
using Visits = std::vector<plan::SampleVisit>;

constexpr std::int32_t cls = 257;
constexpr std::int32_t sep = 258;
constexpr std::int32_t mask = 259;

constexpr plan::LengthPolicy policies[] = {plan::LengthPolicy::fixed, plan::LengthPolicy::pad,
                                           plan::LengthPolicy::pack};

// Builds a batch. Also expects that count_targets() returns the number of its targets.
Batch built(const Corpus& corpus, const std::vector<Sample>& samples, const BatchRules& rules, Visits visits,
            plan::LengthPolicy policy = plan::LengthPolicy::pad, std::size_t longest = 40) {
    const std::size_t counted = count_targets(corpus, samples, rules, visits);
    Batch batch =
        build_batch(corpus, samples, rules, make_microbatch(std::move(visits), samples, policy, longest));
    EXPECT_EQ(batch.target_count, counted);
    EXPECT_EQ(batch.targets.size(), batch.rows());
    EXPECT_EQ(batch.types.size(), batch.rows());
    return batch;
}

Ints part(const Ints& values, const TokenSpan& span) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(span.begin);
    return {begin, begin + static_cast<std::ptrdiff_t>(span.length)};
}

// Two rows of 30 and 12 different tokens. Their samples include the special tokens at both ends.
class MaskedRows : public ::testing::Test {
protected:
    static TokenRow counted(std::size_t length, std::uint32_t first) {
        TokenRow row(length);
        std::iota(row.begin(), row.end(), first);
        return row;
    }

    Batch masked(Visits visits, plan::LengthPolicy policy = plan::LengthPolicy::pad) const {
        return built(corpus_, samples_, rules_, std::move(visits), policy);
    }

    const BatchRules rules_{.task = Task::masked, .mask_key = RandomKey{3}};
    const std::vector<Sample> samples_{{0, 0, 32}, {1, 0, 14}, {0, 20, 12}};

private:
    ScratchFolder folder_;
    Corpus corpus_ = small_corpus(folder_, {counted(30, 60), counted(12, 160)}, bert_bytes());
};

TEST_F(MaskedRows, EncloseTextInSpecialTokensAndTargetHiddenTokens) {
    for (std::uint64_t epoch = 0; epoch < 50; ++epoch) {
        const Batch batch = masked({{epoch, 1}});
        ASSERT_EQ(batch.rows(), 14U);
        EXPECT_EQ(batch.tokens.front(), cls);
        EXPECT_EQ(batch.tokens.back(), sep);
        EXPECT_EQ(batch.targets.front(), -1);
        EXPECT_EQ(batch.targets.back(), -1);
        for (std::int32_t row = 1; row <= 12; ++row) {
            const std::int32_t own = 160 + row - 1;
            const std::int32_t target = batch.targets[static_cast<std::size_t>(row)];
            if (target == -1) {
                EXPECT_EQ(batch.tokens[static_cast<std::size_t>(row)], own);
            } else {
                EXPECT_EQ(target, own);
            }
        }
        EXPECT_GE(batch.target_count, 1U);
        EXPECT_EQ(batch.types, Ints(14, 0));
    }
}

TEST_F(MaskedRows, StartAtTheFirstTokenOfTheirSample) {
    const Batch batch = masked({{0, 2}});

    for (std::size_t row = 1; row <= 10; ++row) {
        const auto own = static_cast<std::int32_t>(80 + row - 1);
        EXPECT_TRUE(batch.targets[row] == own || batch.tokens[row] == own) << row;
    }
}

TEST_F(MaskedRows, HideTheSameTokensInEveryBatchAndLengthPolicy) {
    const Batch single = masked({{7, 1}}, plan::LengthPolicy::pack);
    for (const plan::LengthPolicy policy : policies) {
        const Batch batch = masked({{7, 0}, {7, 2}, {7, 1}}, policy);

        EXPECT_EQ(part(batch.tokens, batch.spans[2]), single.tokens);
        EXPECT_EQ(part(batch.targets, batch.spans[2]), single.targets);
        EXPECT_EQ(batch.spans[2].visit, single.spans[0].visit);
    }
}

TEST_F(MaskedRows, HideDifferentTokensInEachEpochAndForEachKey) {
    const BatchRules other_key{.task = Task::masked, .mask_key = RandomKey{4}};
    const ScratchFolder folder;
    const Corpus corpus = small_corpus(folder, {counted(30, 60), counted(12, 160)}, bert_bytes());

    const Batch first = masked({{0, 0}});

    EXPECT_NE(masked({{1, 0}}).targets, first.targets);
    EXPECT_NE(built(corpus, samples_, other_key, {{0, 0}}).targets, first.targets);
    EXPECT_EQ(built(corpus, samples_, rules_, {{0, 0}}).targets, first.targets);
}

TEST_F(MaskedRows, ListTheRowsOfHiddenTokensAsPredicted) {
    const Batch batch = masked({{2, 1}, {2, 0}});

    ASSERT_EQ(batch.predicted_rows.size(), batch.target_count);
    std::size_t hidden = 0;
    for (const std::int32_t target : batch.targets) hidden += target >= 0 ? 1 : 0;
    EXPECT_EQ(hidden, batch.target_count);
    for (const std::int32_t row : batch.predicted_rows)
        EXPECT_GE(batch.targets[static_cast<std::size_t>(row)], 0) << row;
}

TEST_F(MaskedRows, ShowTheMaskTokenAtEightyPercentOfHiddenPlaces) {
    std::size_t hidden = 0;
    std::size_t masks = 0;
    for (std::uint64_t epoch = 0; epoch < 200; ++epoch) {
        const Batch batch = masked({{epoch, 0}});
        hidden += batch.target_count;
        for (const std::int32_t token : batch.tokens) masks += token == mask ? 1 : 0;
    }

    EXPECT_NEAR(static_cast<double>(hidden), 900, 5 * 28);  // 0.15 of 6,000 tokens
    EXPECT_NEAR(static_cast<double>(masks) / static_cast<double>(hidden), 0.8, 5 * 0.0134);
}

// Two questions of two tokens and one token, with contexts of four and three tokens.
class TwoQuestions : public ::testing::Test {
protected:
    Batch spans(const std::vector<Sample>& samples, plan::LengthPolicy policy = plan::LengthPolicy::pad) const {
        Visits visits;
        for (std::uint64_t sample = 0; sample < samples.size(); ++sample) visits.push_back({0, sample});
        return built(corpus_, samples, {.task = Task::span}, visits, policy, 10);
    }

private:
    ScratchFolder folder_;
    Corpus corpus_ =
        corpus_of(folder_, described(RowKind::question, bert_bytes()),
                  {question_row({11, 12, 21, 22, 23, 24},
                                {.context_begin = 2, .answer_first = 3, .answer_last = 4, .answers = {"a"}}),
                   question_row({31, 41, 42, 43},
                                {.context_begin = 1, .answer_first = 1, .answer_last = 1, .answers = {"b"}})});
};

TEST_F(TwoQuestions, HoldTheQuestionAndTheContext) {
    const Batch batch = spans({{0, 0, 9}, {1, 0, 7}});

    EXPECT_EQ(batch.tokens, (Ints{cls, 11, 12, sep, 21, 22, 23, 24, sep, cls, 31, sep, 41, 42, 43, sep, 0, 0}));
    EXPECT_EQ(batch.types, (Ints{0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 0, 0}));
    EXPECT_EQ(batch.positions, (Ints{0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2, 3, 4, 5, 6, 0, 0}));
    EXPECT_EQ(batch.contexts, (Ints{4, 8, 3, 6}));
    EXPECT_EQ(batch.answers, (Ints{5, 6, 3, 3}));
    EXPECT_EQ(batch.target_count, 2U);
    EXPECT_EQ(batch.targets, Ints(18, -1));
    EXPECT_TRUE(batch.predicted_rows.empty());
}

TEST_F(TwoQuestions, CountAnswerPositionsFromTheStartOfTheirSample) {
    for (const plan::LengthPolicy policy : policies) {
        const Batch batch = spans({{0, 0, 9}, {1, 0, 7}}, policy);

        EXPECT_EQ(part(batch.tokens, batch.spans[1]), (Ints{cls, 31, sep, 41, 42, 43, sep}));
        EXPECT_EQ(part(batch.types, batch.spans[1]), (Ints{0, 0, 0, 1, 1, 1, 1}));
        EXPECT_EQ(batch.contexts, (Ints{4, 8, 3, 6}));
        EXPECT_EQ(batch.answers, (Ints{5, 6, 3, 3}));
    }
}

TEST_F(TwoQuestions, KeepAnAnswerThatEndsWithTheSample) {
    const Batch batch = spans({{0, 0, 8}});

    EXPECT_EQ(batch.tokens, (Ints{cls, 11, 12, sep, 21, 22, 23, sep}));
    EXPECT_EQ(batch.contexts, (Ints{4, 7}));
    EXPECT_EQ(batch.answers, (Ints{5, 6}));
}

TEST_F(TwoQuestions, HaveNoAnswerIfTruncationRemovesIt) {
    const Batch batch = spans({{0, 0, 7}, {1, 0, 5}});

    EXPECT_EQ(batch.tokens, (Ints{cls, 11, 12, sep, 21, 22, sep, cls, 31, sep, 41, sep, 0, 0}));
    EXPECT_EQ(batch.contexts, (Ints{4, 6, 3, 4}));
    EXPECT_EQ(batch.answers, (Ints{-1, -1, 3, 3}));
    EXPECT_EQ(batch.target_count, 1U);
}

TEST_F(TwoQuestions, RejectASampleWithoutAContext) { EXPECT_THROW(spans({{0, 0, 5}}), BugError); }

TEST(ClassifiedTexts, HaveTheirClassAsTargetOfTheFirstRow) {
    const ScratchFolder folder;
    const Corpus corpus = corpus_of(folder, described(RowKind::labelled_text, bert_bytes()),
                                    {labelled_row({11, 12, 13}, 2), labelled_row({21}, 0)});
    const std::vector<Sample> samples{{0, 0, 4}, {1, 0, 3}};

    const Batch batch = built(corpus, samples, {.task = Task::classify}, {{0, 1}, {0, 0}});

    EXPECT_EQ(batch.tokens, (Ints{cls, 21, sep, 0, cls, 11, 12, sep}));
    EXPECT_EQ(batch.targets, (Ints{0, -1, -1, -1, 2, -1, -1, -1}));
    EXPECT_EQ(batch.predicted_rows, (Ints{0, 4}));
    EXPECT_EQ(batch.target_count, 2U);
}

TEST(ClassifiedTexts, MapTheirClassToTheModelsLabel) {
    const ScratchFolder folder;
    const Corpus corpus = corpus_of(folder, described(RowKind::labelled_text, bert_bytes()),
                                    {labelled_row({11}, 2), labelled_row({21}, 0)});
    const std::vector<Sample> samples{{0, 0, 3}, {1, 0, 3}};

    const Batch batch =
        built(corpus, samples, {.task = Task::classify, .model_labels = {7, 3, 0}}, {{0, 0}, {0, 1}});

    EXPECT_EQ(batch.targets, (Ints{0, -1, -1, 7, -1, -1}));
}

// Images of 2 x 2 x 4 pixels in patches of 2 x 2. The pixels of an image count up in the order of memory:
//
//   channel 0   0  1 |  2  3      channel 1    8  9 | 10 11
//               4  5 |  6  7                  12 13 | 14 15
class ImagePatches : public ::testing::Test {
protected:
    static std::vector<std::uint8_t> pixels(std::uint8_t first) {
        std::vector<std::uint8_t> numbers(16);
        std::iota(numbers.begin(), numbers.end(), first);
        return numbers;
    }
    static std::vector<float> brightness(const std::vector<std::uint8_t>& bytes) {
        std::vector<float> values;
        for (const std::uint8_t byte : bytes) values.push_back(static_cast<float>(byte) / 127.5F - 1.0F);
        return values;
    }

    ScratchFolder folder_;
    Corpus corpus_ = corpus_of(folder_, describe_image_corpus({2, 2, 4}),
                               {image_row(pixels(0), 1), image_row(pixels(240), 0)});
};

TEST_F(ImagePatches, StoreTheirPixelsChannelByChannel) {
    const std::vector<Sample> samples{{0, 0, 3}, {1, 0, 3}};

    const Batch batch = built(corpus_, samples, {.task = Task::classify, .patch = 2}, {{0, 0}});

    EXPECT_EQ(batch.pixels, brightness({0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15}));
    EXPECT_EQ(batch.tokens, (Ints{0, 0, 0}));
    EXPECT_EQ(batch.positions, (Ints{0, 1, 2}));
    EXPECT_EQ(batch.targets, (Ints{1, -1, -1}));
    EXPECT_EQ(batch.predicted_rows, Ints{0});
}

TEST_F(ImagePatches, FollowTheOrderOfTheVisits) {
    const std::vector<Sample> samples{{0, 0, 3}, {1, 0, 3}};
    for (const plan::LengthPolicy policy : policies) {
        const Batch batch =
            built(corpus_, samples, {.task = Task::classify, .patch = 2}, {{0, 1}, {0, 0}}, policy, 3);

        ASSERT_EQ(batch.pixels.size(), 32U);
        EXPECT_EQ(batch.pixels[0], static_cast<float>(240) / 127.5F - 1.0F);
        EXPECT_EQ(batch.pixels[15], 1.0F);
        EXPECT_EQ(batch.pixels[16], -1.0F);
        EXPECT_EQ(batch.targets, (Ints{0, -1, -1, 1, -1, -1}));
    }
}

TEST_F(ImagePatches, HoldAllChannelsOfAPixelAtSizeOne) {
    const std::vector<Sample> samples{{0, 0, 9}};

    const Batch batch = built(corpus_, samples, {.task = Task::classify, .patch = 1}, {{0, 0}});

    EXPECT_EQ(batch.pixels, brightness({0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15}));
}

TEST_F(ImagePatches, RejectASizeThatContradictsTheSample) {
    const std::vector<Sample> samples{{0, 0, 3}};
    const auto build = [&](std::size_t patch) {
        built(corpus_, samples, {.task = Task::classify, .patch = patch}, {{0, 0}});
    };

    EXPECT_THROW(build(1), BugError);
    EXPECT_THROW(build(3), BugError);
    EXPECT_THROW(build(0), BugError);
}

}  // namespace
}  // namespace trireme::data
