// Tests special tokens that a task needs and that a tokenizer lacks.
#include <gtest/gtest.h>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "unit/data/tokenizer_sample.hpp"

namespace trireme::data {
namespace {

using validation::message_of;
using validation::says;

using Ids = std::vector<std::uint32_t>;

const std::vector<std::string> bert{"[CLS]", "[SEP]", "[MASK]"};

TEST(SpecialTokens, ComeBehindTheOthersInTheirOrder) {
    for (const Tokenizer& plain : tokenizer_sample::with_and_without_merges()) {
        const auto size = static_cast<std::uint32_t>(plain.vocabulary_size());

        const Tokenizer tokenizer = plain.with_special_tokens(bert);

        EXPECT_EQ(tokenizer.vocabulary_size(), size + 3);
        EXPECT_EQ(tokenizer.special_token("[CLS]"), size);
        EXPECT_EQ(tokenizer.special_token("[SEP]"), size + 1);
        EXPECT_EQ(tokenizer.special_token("[MASK]"), size + 2);
        EXPECT_EQ(tokenizer.end_token(), plain.end_token());
        EXPECT_EQ(tokenizer.special_token("<|endoftext|>"), plain.end_token());
        EXPECT_EQ(tokenizer.special_token("[PAD]"), std::nullopt);
        EXPECT_EQ(plain.special_token("[CLS]"), std::nullopt);
    }
}

TEST(SpecialTokens, LeaveTheIdsOfTextsAsTheyAre) {
    for (const Tokenizer& plain : tokenizer_sample::with_and_without_merges()) {
        const Tokenizer tokenizer = plain.with_special_tokens(bert);
        const std::string text = std::string(tokenizer_sample::text) + "[MASK] [CLS]";

        EXPECT_EQ(tokenizer.encode(text), plain.encode(text));
        EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
    }
}

TEST(SpecialTokens, AreSpelledOutWhenDecoded) {
    const Tokenizer tokenizer = Tokenizer::bytes().with_special_tokens(bert);

    EXPECT_EQ(tokenizer.decode(Ids{257, 'a', 259, 258, 256}), "[CLS]a[MASK][SEP]<|endoftext|>");
}

TEST(SpecialTokens, SurviveTheTokenizersBytes) {
    for (const Tokenizer& plain : tokenizer_sample::with_and_without_merges()) {
        const Tokenizer tokenizer = plain.with_special_tokens(bert);

        const Tokenizer again = Tokenizer::from_bytes(tokenizer.to_bytes());

        EXPECT_EQ(again.to_bytes(), tokenizer.to_bytes());
        EXPECT_EQ(again.special_token("[MASK]"), tokenizer.special_token("[MASK]"));
        EXPECT_NE(tokenizer.hash(), plain.hash());
    }
}

TEST(SpecialTokens, ThatAreThereAreNotAddedAgain) {
    const Tokenizer once = Tokenizer::bytes().with_special_tokens(bert);
    const std::vector<std::string> again{"[MASK]", "<|endoftext|>", "[CLS]", "[SEP]"};
    const std::vector<std::string> twice{"[CLS]", "[CLS]"};

    EXPECT_EQ(once.with_special_tokens(again).hash(), once.hash());
    EXPECT_EQ(Tokenizer::bytes().with_special_tokens(twice).vocabulary_size(), 258U);
}

TEST(SpecialTokens, OfATextsOwnTokenAreRefused) {
    const std::vector<std::string> texts{"[[ [[ [["};
    const Tokenizer tokenizer = Tokenizer::trained(texts, 258);
    ASSERT_EQ(tokenizer.encode("[["), Ids{256});
    const std::vector<std::string> taken{"[["};

    EXPECT_TRUE(says(message_of<ConfigError>([&] { tokenizer.with_special_tokens(taken); }),
                     "\"[[\" cannot become a special token: the tokenizer bpe-258 makes it of texts (id 256)"));
}

TEST(SpecialTokens, MustBeTexts) {
    for (const std::string spelling : {"", "\xff", "a\xce"}) {
        const std::vector<std::string> spellings{spelling};
        EXPECT_TRUE(says(message_of<ConfigError>([&] { Tokenizer::bytes().with_special_tokens(spellings); }),
                         "a special token must be text in UTF-8"));
    }
}

}  // namespace
}  // namespace trireme::data
