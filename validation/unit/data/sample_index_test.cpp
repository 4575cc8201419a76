#include "trireme/data/sample_index.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "unit/data/small_corpus.hpp"

namespace trireme::data {
namespace {

using validation::catch_message;
using validation::make_corpus_with_lengths;
using validation::says;
using validation::ScratchFolder;
using validation::small_corpus;

// Returns "row:begin+length" per sample, sorted.
std::vector<std::string> named(const std::vector<Sample>& samples) {
    std::vector<std::string> names;
    for (const Sample& s : samples) names.push_back(cat(s.row, ":", s.begin, "+", s.length));
    std::sort(names.begin(), names.end());
    return names;
}

using Names = std::vector<std::string>;

// Returns the samples of a corpus with rows of these lengths; no row is kept for validation.
std::vector<std::string> train_samples(const std::vector<std::size_t>& lengths, SampleRules rules) {
    const ScratchFolder folder;
    rules.validation_fraction = 0;
    return named(index_samples(make_corpus_with_lengths(folder, lengths), rules).train);
}

std::set<std::uint64_t> row_numbers(const std::vector<Sample>& samples) {
    std::set<std::uint64_t> rows;
    for (const Sample& sample : samples) rows.insert(sample.row);
    return rows;
}

std::set<std::uint64_t> validation_rows(const Corpus& corpus, const SampleRules& rules) {
    return row_numbers(index_samples(corpus, rules).validation);
}

// With the end token, a row of n tokens has n predictions: all tokens but the first, and the end token.
TEST(SampleIndex, PredictsTheEndTokenOfEachRow) {
    EXPECT_EQ(train_samples({3, 1}, {.max_length = 8}), (Names{"0:0+3", "1:0+1"}));
}

TEST(SampleIndex, PredictsOneTokenFewerWithoutTheEndToken) {
    EXPECT_EQ(train_samples({3, 2}, {.max_length = 8, .append_end_token = false}), (Names{"0:0+2", "1:0+1"}));
}

TEST(SampleIndex, SkipsRowsWithNothingToPredict) {
    EXPECT_EQ(train_samples({0, 2, 0}, {.max_length = 8}), (Names{"1:0+2"}));
    EXPECT_EQ(train_samples({1, 2, 0}, {.max_length = 8, .append_end_token = false}), (Names{"1:0+1"}));
}

TEST(SampleIndex, SplitsALongRowIntoConsecutivePieces) {
    EXPECT_EQ(train_samples({10}, {.max_length = 4}), (Names{"0:0+4", "0:4+4", "0:8+2"}));
    EXPECT_EQ(train_samples({10}, {.max_length = 4, .append_end_token = false}),
              (Names{"0:0+4", "0:4+4", "0:8+1"}));
}

TEST(SampleIndex, CoversEveryPredictionOfEveryRowOnce) {
    for (const bool append_end_token : {true, false}) {
        for (std::size_t max_length = 1; max_length <= 9; ++max_length) {
            const ScratchFolder folder;
            const Corpus corpus = make_corpus_with_lengths(folder, {0, 1, 2, 3, 4, 5, 8, 9, 27});
            const SampleRules rules{
                .max_length = max_length, .append_end_token = append_end_token, .validation_fraction = 0};

            std::map<std::uint64_t, std::multiset<std::uint32_t>> predicted;
            for (const Sample& s : index_samples(corpus, rules).train) {
                EXPECT_LE(s.length, max_length);
                for (std::uint32_t i = 1; i <= s.length; ++i) predicted[s.row].insert(s.begin + i);
            }

            for (std::uint64_t row = 0; row < corpus.rows(); ++row) {
                std::multiset<std::uint32_t> expected;
                const std::uint64_t tokens = corpus.row_length(row) + (append_end_token ? 1 : 0);
                for (std::uint32_t i = 1; i < tokens; ++i) expected.insert(i);
                EXPECT_EQ(predicted[row], expected) << "row " << row << ", length " << max_length;
            }
        }
    }
}

TEST(SampleIndex, TruncatesLongRowsOnRequest) {
    EXPECT_EQ(train_samples({4, 5, 12}, {.max_length = 4, .long_rows = LongRows::truncate}),
              (Names{"0:0+4", "1:0+4", "2:0+4"}));
}

TEST(SampleIndex, DropsLongRowsOnRequest) {
    EXPECT_EQ(train_samples({4, 5, 12}, {.max_length = 4, .long_rows = LongRows::drop}), (Names{"0:0+4"}));
    EXPECT_EQ(
        train_samples({4, 5, 12}, {.max_length = 4, .long_rows = LongRows::drop, .append_end_token = false}),
        (Names{"0:0+3", "1:0+4"}));
}

TEST(SampleIndex, RejectsALongRowWithItsNumberAndLength) {
    const ScratchFolder folder;
    const Corpus corpus = make_corpus_with_lengths(folder, {4, 5});
    const SampleRules rules{.max_length = 4, .long_rows = LongRows::refuse, .validation_fraction = 0};

    const std::string message = catch_message<ConfigError>([&] { index_samples(corpus, rules); });

    EXPECT_TRUE(says(message, "corpus.h5: row 1 has 5 predictions, more than "));
    EXPECT_TRUE(says(message, "--max-length 4; use --long split, truncate or drop, or a larger --max-length"));
}

TEST(SampleIndex, AcceptsARowOfExactlyTheMaximumLength) {
    const SampleRules rules{.max_length = 4, .long_rows = LongRows::refuse};

    EXPECT_EQ(train_samples({4, 4}, rules), (Names{"0:0+4", "1:0+4"}));
}

TEST(SampleIndex, KnowsTheLongestSampleOfTrainingAndValidation) {
    const ScratchFolder folder;
    std::vector<std::size_t> lengths(100, 2);
    const SampleRules rules{.max_length = 8, .validation_fraction = 0.5};
    const auto chosen = validation_rows(make_corpus_with_lengths(folder, lengths), rules);
    ASSERT_FALSE(chosen.empty());
    ASSERT_LT(chosen.size(), lengths.size());
    lengths[*chosen.begin()] = 7;

    const SampleIndex index = index_samples(make_corpus_with_lengths(folder, lengths), rules);

    EXPECT_EQ(index.max_length, 7U);
    EXPECT_TRUE(std::all_of(index.train.begin(), index.train.end(), [](auto& s) { return s.length == 2; }));
}

TEST(ValidationShare, ReservesNoRowsIfZero) {
    const ScratchFolder folder;
    const Corpus corpus = make_corpus_with_lengths(folder, std::vector<std::size_t>(500, 3));

    const SampleIndex index = index_samples(corpus, {.validation_fraction = 0});

    EXPECT_EQ(index.train.size(), 500U);
    EXPECT_TRUE(index.validation.empty());
}

// The fraction of 2,000 rows is met within five standard deviations, each of which is at most sqrt(2000) / 2.
TEST(ValidationShare, IsCloseToTheRequestedShare) {
    const ScratchFolder folder;
    const Corpus corpus = make_corpus_with_lengths(folder, std::vector<std::size_t>(2000, 1));

    for (const double share : {0.02, 0.25, 0.5, 0.9, 0.99}) {
        const SampleIndex index = index_samples(corpus, {.validation_fraction = share});

        const double deviation = std::sqrt(2000 * share * (1 - share));
        EXPECT_NEAR(static_cast<double>(index.validation.size()), 2000 * share, 5 * deviation) << share;
        EXPECT_EQ(index.train.size() + index.validation.size(), 2000U);
    }
}

TEST(ValidationShare, ChoosesRowsByTheirNumberOnly) {
    const ScratchFolder folder;
    std::vector<std::size_t> lengths;
    for (std::size_t row = 0; row < 300; ++row) lengths.push_back(1 + row % 17);
    const SampleRules rules{.max_length = 16, .validation_fraction = 0.3};
    const auto chosen = validation_rows(make_corpus_with_lengths(folder, lengths), rules);

    std::vector<std::size_t> reversed(lengths.rbegin(), lengths.rend());
    const auto of_other_rows = validation_rows(make_corpus_with_lengths(folder, reversed), rules);
    lengths.insert(lengths.end(), 300, 5);
    auto of_more_rows = validation_rows(make_corpus_with_lengths(folder, lengths), rules);
    of_more_rows.erase(of_more_rows.lower_bound(300), of_more_rows.end());
    const auto of_other_cuts =
        validation_rows(make_corpus_with_lengths(folder, std::vector<std::size_t>(300, 9)),
                        {.max_length = 2, .append_end_token = false, .validation_fraction = 0.3});

    EXPECT_FALSE(chosen.empty());
    EXPECT_EQ(of_other_rows, chosen);
    EXPECT_EQ(of_more_rows, chosen);
    EXPECT_EQ(of_other_cuts, chosen);
}

TEST(ValidationShare, NeverSplitsARowBetweenTrainingAndValidation) {
    const ScratchFolder folder;
    const Corpus corpus = make_corpus_with_lengths(folder, std::vector<std::size_t>(200, 10));

    const SampleIndex index = index_samples(corpus, {.max_length = 3, .validation_fraction = 0.5});

    const auto train = row_numbers(index.train);
    for (const std::uint64_t row : row_numbers(index.validation)) EXPECT_EQ(train.count(row), 0U) << row;
    EXPECT_EQ(index.train.size() + index.validation.size(), 200U * 4);
    EXPECT_EQ(index.validation.size() % 4, 0U);
}

TEST(ValidationShare, OnlyAddsRowsAsItGrows) {
    const ScratchFolder folder;
    const Corpus corpus = make_corpus_with_lengths(folder, std::vector<std::size_t>(400, 3));

    const auto few = validation_rows(corpus, {.validation_fraction = 0.1});
    const auto many = validation_rows(corpus, {.validation_fraction = 0.4});

    EXPECT_TRUE(std::includes(many.begin(), many.end(), few.begin(), few.end()));
}

TEST(SampleIndex, RejectsACorpusWithoutTrainingSamples) {
    const ScratchFolder folder;
    const auto refusal = [&](const std::vector<std::size_t>& lengths, const SampleRules& rules) {
        const Corpus corpus = make_corpus_with_lengths(folder, lengths);
        return catch_message<ConfigError>([&] { index_samples(corpus, rules); });
    };
    const std::string no_sample = "corpus.h5 leaves no sample to train on (";

    EXPECT_TRUE(says(refusal({}, {}), no_sample + "0 rows"));
    EXPECT_TRUE(says(refusal({0, 0}, {}), no_sample + "2 rows"));
    EXPECT_TRUE(says(refusal({9, 9, 9}, {.max_length = 4, .long_rows = LongRows::drop}), "--max-length 4"));
    EXPECT_TRUE(says(refusal({3, 3, 3}, {.validation_fraction = 0.999999}), "--validation-share 0.999999"));
}

// The tokenizer of bytes, with its end token "<|endoftext|>" renamed, has no end token.
TEST(SampleIndex, NeedsAnEndTokenOnlyIfItAppendsOne) {
    const ScratchFolder folder;
    std::string text = Tokenizer::make_raw_bytes().to_bytes();
    const std::string end = "<|endoftext|>";
    for (auto at = text.find(end); at != std::string::npos; at = text.find(end))
        text.replace(at, end.size(), "QQ");
    const Tokenizer endless = Tokenizer::from_bytes(text);
    ASSERT_FALSE(endless.find_end_token().has_value());
    const Corpus corpus = small_corpus(folder, {{1, 2, 3}}, endless);

    const std::string message =
        catch_message<ConfigError>([&] { index_samples(corpus, {.validation_fraction = 0}); });
    const SampleIndex without = index_samples(corpus, {.append_end_token = false, .validation_fraction = 0});

    EXPECT_TRUE(says(message, "has no end-of-text token to append to each row; use --document-end none"));
    EXPECT_TRUE(says(message, "corpus.h5"));
    EXPECT_EQ(named(without.train), (Names{"0:0+2"}));
}

}  // namespace
}  // namespace trireme::data
