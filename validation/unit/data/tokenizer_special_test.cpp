// Tests special tokens that a task needs and that a tokenizer lacks.
#include <gtest/gtest.h>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "unit/data/tokenizer_sample.hpp"

namespace trireme::data {
namespace {

using validation::catch_message;
using validation::says;

using Ids = std::vector<std::uint32_t>;

const std::vector<std::string> bert{"[CLS]", "[SEP]", "[MASK]"};

TEST(SpecialTokens, FollowTheVocabularyInTheGivenOrder) {
    for (const Tokenizer& plain : tokenizer_sample::with_and_without_merges()) {
        const auto size = static_cast<std::uint32_t>(plain.vocabulary_size());

        const Tokenizer tokenizer = plain.with_special_tokens(bert);

        EXPECT_EQ(tokenizer.vocabulary_size(), size + 3);
        EXPECT_EQ(tokenizer.find_special_token("[CLS]"), size);
        EXPECT_EQ(tokenizer.find_special_token("[SEP]"), size + 1);
        EXPECT_EQ(tokenizer.find_special_token("[MASK]"), size + 2);
        EXPECT_EQ(tokenizer.find_end_token(), plain.find_end_token());
        EXPECT_EQ(tokenizer.find_special_token("<|endoftext|>"), plain.find_end_token());
        EXPECT_EQ(tokenizer.find_special_token("[PAD]"), std::nullopt);
        EXPECT_EQ(plain.find_special_token("[CLS]"), std::nullopt);
    }
}

TEST(SpecialTokens, DoNotChangeTheIdsOfTexts) {
    for (const Tokenizer& plain : tokenizer_sample::with_and_without_merges()) {
        const Tokenizer tokenizer = plain.with_special_tokens(bert);
        const std::string text = std::string(tokenizer_sample::text) + "[MASK] [CLS]";

        EXPECT_EQ(tokenizer.encode(text), plain.encode(text));
        EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
    }
}

TEST(SpecialTokens, AreSpelledOutWhenDecoded) {
    const Tokenizer tokenizer = Tokenizer::make_raw_bytes().with_special_tokens(bert);

    EXPECT_EQ(tokenizer.decode(Ids{257, 'a', 259, 258, 256}), "[CLS]a[MASK][SEP]<|endoftext|>");
}

TEST(SpecialTokens, SurviveSerialization) {
    for (const Tokenizer& plain : tokenizer_sample::with_and_without_merges()) {
        const Tokenizer tokenizer = plain.with_special_tokens(bert);

        const Tokenizer again = Tokenizer::from_bytes(tokenizer.to_bytes());

        EXPECT_EQ(again.to_bytes(), tokenizer.to_bytes());
        EXPECT_EQ(again.find_special_token("[MASK]"), tokenizer.find_special_token("[MASK]"));
        EXPECT_NE(tokenizer.compute_hash(), plain.compute_hash());
    }
}

TEST(SpecialTokens, AreNotAddedTwice) {
    const Tokenizer once = Tokenizer::make_raw_bytes().with_special_tokens(bert);
    const std::vector<std::string> again{"[MASK]", "<|endoftext|>", "[CLS]", "[SEP]"};
    const std::vector<std::string> twice{"[CLS]", "[CLS]"};

    EXPECT_EQ(once.with_special_tokens(again).compute_hash(), once.compute_hash());
    EXPECT_EQ(Tokenizer::make_raw_bytes().with_special_tokens(twice).vocabulary_size(), 258U);
}

TEST(SpecialTokens, AreRejectedIfAnOrdinaryTokenHasTheirSpelling) {
    const std::vector<std::string> texts{"[[ [[ [["};
    const Tokenizer tokenizer = Tokenizer::train(texts, 258);
    ASSERT_EQ(tokenizer.encode("[["), Ids{256});
    const std::vector<std::string> taken{"[["};

    EXPECT_TRUE(says(
        catch_message<ConfigError>([&] { tokenizer.with_special_tokens(taken); }),
        "\"[[\" cannot become a special token: it is an ordinary token of the tokenizer bpe-258 (id 256)"));
}

TEST(SpecialTokens, MustBeNonemptyUtf8) {
    for (const std::string spelling : {"", "\xff", "a\xce"}) {
        const std::vector<std::string> spellings{spelling};
        EXPECT_TRUE(says(
            catch_message<ConfigError>([&] { Tokenizer::make_raw_bytes().with_special_tokens(spellings); }),
            "a special token must be text in UTF-8"));
    }
}

}  // namespace
}  // namespace trireme::data
