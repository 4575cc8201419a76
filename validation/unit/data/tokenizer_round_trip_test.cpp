// Tests decode(encode(x)) == x for any bytes. No file is needed.
#include <gtest/gtest.h>

#include "data/tokenizer/byte_text.hpp"
#include "trireme/base/error.hpp"
#include "unit/data/tokenizer_sample.hpp"

namespace trireme::data {
namespace {

using tokenizer_sample::drawn;
using tokenizer_sample::drawn_bytes;

void expect_round_trip(const Tokenizer& tokenizer, const std::string& text) {
    const std::vector<std::uint32_t> ids = tokenizer.encode(text);

    ASSERT_EQ(tokenizer.decode(ids), text);
    for (const std::uint32_t id : ids) ASSERT_LT(id, tokenizer.vocabulary_size());
}

TEST(TokenizerRoundTrip, KeepsEveryByteAndEveryPairOfBytes) {
    for (const Tokenizer& tokenizer : tokenizer_sample::with_and_without_merges())
        for (int first = 0; first < 256; ++first) {
            expect_round_trip(tokenizer, std::string(1, static_cast<char>(first)));
            for (int second = 0; second < 256; ++second)
                expect_round_trip(tokenizer, {static_cast<char>(first), static_cast<char>(second)});
        }
}

TEST(TokenizerRoundTrip, KeepsRandomBytesOfEveryLength) {
    for (const Tokenizer& tokenizer : tokenizer_sample::with_and_without_merges())
        for (unsigned length = 0; length < 500; ++length)
            expect_round_trip(tokenizer, drawn_bytes(length, length));
}

TEST(TokenizerRoundTrip, KeepsMixturesOfScriptsSpacesAndMalformedSequences) {
    const std::vector<std::string> parts{"a",
                                         "the",
                                         " value",
                                         "'s",
                                         "'",
                                         "12",
                                         "\xc2\xb2",
                                         " ",
                                         "  ",
                                         "\n",
                                         "\t",
                                         "\r\n",
                                         "\xc2\x85",
                                         "\xc2\xa0",
                                         "\xe2\x80\x83",
                                         "\xe3\x80\x80",
                                         "\xe1\xa0\x8e",
                                         "\xce\xbc",
                                         "\xd7\x90",
                                         "\xe6\xbc\xa2",
                                         "\xf0\x9f\x9a\xa3",
                                         std::string(1, '\0'),
                                         "\x7f",
                                         "\x80",
                                         "\xc3",
                                         "\xe6\xbc",
                                         "\xed\xa0\x80",
                                         "\xf4\x90\x80\x80",
                                         "\xc0\xaf",
                                         "\xff"};
    for (const Tokenizer& tokenizer : tokenizer_sample::with_and_without_merges())
        for (unsigned seed = 0; seed < 400; ++seed) expect_round_trip(tokenizer, drawn(parts, seed % 97, seed));
}

TEST(TokenizerRoundTrip, KeepsAMegabyteWithoutWordBoundaries) {
    constexpr std::size_t megabyte = 1 << 20;
    std::string letters = drawn({"a", "e", "h", "l", "s", "t", "u", "v"}, megabyte, 1);
    for (const Tokenizer& tokenizer : tokenizer_sample::with_and_without_merges()) {
        expect_round_trip(tokenizer, std::string(megabyte, 'a'));
        expect_round_trip(tokenizer, std::string(megabyte, ' ') + 'x');
        expect_round_trip(tokenizer, std::string(megabyte, '\x80'));
        expect_round_trip(tokenizer, letters);
    }
}

TEST(Tokenizer, EncodesBytesAsTheirValuesIfItHasNoMerges) {
    const Tokenizer tokenizer = Tokenizer::make_raw_bytes();

    EXPECT_EQ(tokenizer.encode(std::string_view("a\0\xff", 3)), (std::vector<std::uint32_t>{97, 0, 255}));
    EXPECT_EQ(tokenizer.name(), "bytes");
    EXPECT_EQ(tokenizer.vocabulary_size(), 257u);
    EXPECT_EQ(tokenizer.find_end_token(), 256u);
}

TEST(Tokenizer, EncodesSpecialTokensInATextAsText) {
    for (const Tokenizer& tokenizer : tokenizer_sample::with_and_without_merges()) {
        const std::vector<std::uint32_t> ids = tokenizer.encode("<|endoftext|>");

        EXPECT_GT(ids.size(), 1u);
        for (const std::uint32_t id : ids) EXPECT_NE(id, tokenizer.find_end_token());
        EXPECT_EQ(tokenizer.decode({{*tokenizer.find_end_token()}}), "<|endoftext|>");
    }
}

TEST(Tokenizer, AppendsToExistingIds) {
    std::vector<std::uint32_t> ids{7};

    Tokenizer::make_raw_bytes().encode("ab", ids);

    EXPECT_EQ(ids, (std::vector<std::uint32_t>{7, 97, 98}));
}

TEST(Tokenizer, NamesAnIdBeyondTheVocabulary) {
    try {
        Tokenizer::make_raw_bytes().decode({{97, 257}});
        FAIL() << "id 257 was decoded";
    } catch (const ConfigError& error) {
        EXPECT_STREQ(error.what(),
                     "token 257 is beyond the vocabulary of the tokenizer bytes (ids 0 to 256); decode "
                     "it with the tokenizer that produced it");
    }
}

TEST(Tokenizer, IsUnchangedBySerialization) {
    for (const Tokenizer& tokenizer : tokenizer_sample::with_and_without_merges()) {
        const Tokenizer again = Tokenizer::from_bytes(tokenizer.to_bytes());

        EXPECT_EQ(again.to_bytes(), tokenizer.to_bytes());
        EXPECT_EQ(again.compute_hash(), tokenizer.compute_hash());
        EXPECT_EQ(again.name(), tokenizer.name());
        EXPECT_EQ(again.vocabulary_size(), tokenizer.vocabulary_size());
        EXPECT_EQ(again.find_end_token(), tokenizer.find_end_token());
        EXPECT_EQ(again.encode(tokenizer_sample::text), tokenizer.encode(tokenizer_sample::text));
    }
}

TEST(Tokenizer, IsParsedFromAnOptionOrRejectedWithTheChoices) {
    EXPECT_EQ(parse_tokenizer_option("bytes").compute_hash(), Tokenizer::make_raw_bytes().compute_hash());
    for (const std::string option : {"gpt2", "gpt2:", "words", "train:4096", ""}) {
        try {
            parse_tokenizer_option(option);
            FAIL() << option << " was accepted";
        } catch (const ConfigError& error) {
            EXPECT_EQ(
                std::string(error.what()),
                "--tokenizer " + option +
                    " is not a tokenizer; give bytes, gpt2:DIR (the folder of encoder.json and vocab.bpe), "
                    "DIR/tokenizer.json or, to prepare a corpus, train:4096");
        }
    }
}

TEST(Utf8Prefix, EndsAtTheFirstMalformedSequence) {
    EXPECT_EQ(find_utf8_prefix(""), 0u);
    EXPECT_EQ(find_utf8_prefix("plain ascii of some length"), 26u);
    EXPECT_EQ(find_utf8_prefix("\xc2\x80\xe0\xa0\x80\xed\x9f\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"), 16u);
    for (const std::string broken :
         {"\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
          "\xf5\x80\x80\x80", "\xc2", "\xe6\xbc", "\xf0\x9f\x9a", "\xc2z"})
        EXPECT_EQ(find_utf8_prefix("123456789" + broken), 9u) << testing::PrintToString(broken);
}

}  // namespace
}  // namespace trireme::data
