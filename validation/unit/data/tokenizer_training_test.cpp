#include <gtest/gtest.h>

#include <map>

#include "data/tokenizer/splitter.hpp"
#include "data/tokenizer/vocabulary.hpp"
#include "trireme/base/error.hpp"
#include "unit/data/tokenizer_sample.hpp"

namespace trireme::data {
namespace {

using Texts = std::vector<std::string>;

// Returns the tokens that were learned after the bytes, in order, including the end token.
Texts learned(const Texts& texts, std::size_t vocabulary_size) {
    const std::vector<std::string> tokens = learn_vocabulary(texts, vocabulary_size).tokens;
    return {tokens.begin() + byte_values, tokens.end()};
}

// Reference trainer that counts every pair again for each merge.
class SlowTrainer {
public:
    explicit SlowTrainer(const Texts& texts) {
        for (const std::string& text : texts)
            Splitter().split(text, [&](std::string_view piece) {
                words_.emplace_back();
                for (const char byte : piece) words_.back().emplace_back(1, byte);
            });
    }

    // Makes at most `merges` merges and returns their tokens as strings, in the order of their first merge.
    Texts learn(std::size_t merges) {
        Texts made;
        for (std::size_t i = 0; i < merges; ++i) {
            const auto best = best_pair();
            if (!best) break;
            const std::string joined = best->first + best->second;
            if (std::find(made.begin(), made.end(), joined) == made.end()) made.push_back(joined);
            for (Texts& word : words_) merge(word, *best);
        }
        return made;
    }

private:
    using Pair = std::pair<std::string, std::string>;

    std::optional<Pair> best_pair() const {
        std::map<Pair, int> counts;  // ordered by bytes, which decides ties
        for (const Texts& word : words_)
            for (std::size_t i = 0; i + 1 < word.size(); ++i) ++counts[{word[i], word[i + 1]}];
        const auto best = std::max_element(counts.begin(), counts.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
        if (best == counts.end() || best->second < 2) return std::nullopt;
        return best->first;
    }

    static void merge(Texts& word, const Pair& pair) {
        for (std::size_t i = 0; i + 1 < word.size(); ++i)
            if (word[i] == pair.first && word[i + 1] == pair.second) {
                word[i] += word[i + 1];
                word.erase(word.begin() + static_cast<std::ptrdiff_t>(i) + 1);
            }
    }

    std::vector<Texts> words_;
};

TEST(TokenizerTraining, MergesTheMostFrequentPairFirst) {
    // The pieces are "aab", " aab" twice, and " ab". Counts: ab 4; then a+ab 3; then " "+aab 2, " "+ab 1.
    const Texts texts{"aab aab aab ab"};

    EXPECT_EQ(learned(texts, 1000), (Texts{"ab", "aab", " aab", "<|endoftext|>"}));
    EXPECT_EQ(learned(texts, 258), (Texts{"ab", "<|endoftext|>"}));
}

TEST(TokenizerTraining, BreaksTiesByTheBytesOfThePair) {
    // The pieces are "xy", " ab", " xy" and " ab". Twice each: " "+a, a+b and x+y; then " a"+b and x+y.
    EXPECT_EQ(learned({"xy ab xy ab"}, 1000), (Texts{" a", " ab", "xy", "<|endoftext|>"}));
}

TEST(TokenizerTraining, UpdatesCountsOfOverlappingPairsAfterAMerge) {
    EXPECT_EQ(learned({"aaaa aaaa"}, 1000), (Texts{"aa", "aaaa", "<|endoftext|>"}));
    EXPECT_EQ(learned({"aaa aaa"}, 1000), (Texts{"aa", "aaa", "<|endoftext|>"}));
}

TEST(TokenizerTraining, NeverMergesAcrossPiecesOrTexts) {
    EXPECT_EQ(learned({"a", "b", "a", "b"}, 1000), Texts{"<|endoftext|>"});
    EXPECT_EQ(learned({"a1a1a1"}, 1000), Texts{"<|endoftext|>"});
    EXPECT_EQ(learned({}, 1000), Texts{"<|endoftext|>"});
}

TEST(TokenizerTraining, MatchesATrainerThatRecountsForEachMerge) {
    const Texts sample{std::string(tokenizer_sample::text)};
    const Texts expected = SlowTrainer(sample).learn(200);
    const Texts found = learned(sample, byte_values + expected.size() + 1);

    EXPECT_EQ(Texts(found.begin(), found.end() - 1), expected);
}

TEST(TokenizerTraining, MatchesTheRecountingTrainerOnSmallAlphabets) {
    for (unsigned seed = 0; seed < 60; ++seed) {
        const Texts texts{tokenizer_sample::drawn({"a", "b", "c", " "}, 40 + 5 * seed, seed)};
        const Texts expected = SlowTrainer(texts).learn(100000);
        Texts found = learned(texts, 100000);
        found.pop_back();

        ASSERT_EQ(found, expected) << "seed " << seed;
    }
}

TEST(TokenizerTraining, ListsEveryMergeOnce) {
    for (unsigned seed = 0; seed < 60; ++seed) {
        const Texts texts{tokenizer_sample::drawn({"a", "b", "c", " "}, 300, seed)};
        const Tokenizer tokenizer = Tokenizer::train(texts, 100000);

        // Reading back refuses a merge that is listed twice and a token that no merge makes.
        EXPECT_EQ(Tokenizer::from_bytes(tokenizer.to_bytes()).compute_hash(), tokenizer.compute_hash())
            << "seed " << seed;
    }
}

TEST(TokenizerTraining, GivesEqualTokenizersForEqualTexts) {
    EXPECT_EQ(tokenizer_sample::trained().to_bytes(), tokenizer_sample::trained().to_bytes());
    EXPECT_EQ(tokenizer_sample::trained().compute_hash(),
              "a092e67d7ea761e6f1183f2b950848e2434a7ec293fcf41fd7ca6ad3925a1b34");  // equal on every machine
}

TEST(TokenizerTraining, PutsTheEndTokenLast) {
    const Tokenizer tokenizer = tokenizer_sample::trained(300);

    EXPECT_EQ(tokenizer.name(), "bpe-300");
    EXPECT_EQ(tokenizer.vocabulary_size(), 300u);
    EXPECT_EQ(tokenizer.find_end_token(), 299u);
}

TEST(TokenizerTraining, EncodesItsTextInFewerThanHalfAsManyTokensAsBytes) {
    const std::size_t tokens = tokenizer_sample::trained(400).encode(tokenizer_sample::text).size();

    EXPECT_LT(tokens, tokenizer_sample::text.size() / 2);
}

TEST(TokenizerTraining, GivesTheByteTokenizerIfNoMergeFits) {
    EXPECT_EQ(tokenizer_sample::trained(257).compute_hash(), Tokenizer::make_raw_bytes().compute_hash());
}

TEST(TokenizerTraining, RejectsAVocabularySmallerThanTheBytes) {
    try {
        tokenizer_sample::trained(256);
        FAIL() << "256 tokens were accepted";
    } catch (const ConfigError& error) {
        EXPECT_STREQ(error.what(),
                     "a vocabulary of 256 tokens is too small: the 256 bytes and the end token alone are "
                     "257 tokens; train at least 257");
    }
}

}  // namespace
}  // namespace trireme::data
