#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "data/tokenizer/byte_text.hpp"
#include "data/tokenizer/splitter.hpp"

namespace trireme::data {
namespace {

std::vector<std::string> pieces(std::string_view text) {
    std::vector<std::string> found;
    Splitter().split(text, [&](std::string_view piece) { found.emplace_back(piece); });
    return found;
}

using Pieces = std::vector<std::string>;

TEST(Splitter, KeepsASpaceWithTheWordAfterIt) {
    EXPECT_EQ(pieces("two words, 34x"), (Pieces{"two", " words", ",", " 34", "x"}));
    EXPECT_EQ(pieces(""), Pieces{});
}

TEST(Splitter, SplitsOffOnlyLowerCaseContractions) {
    EXPECT_EQ(pieces("it's IT'S we'll'"), (Pieces{"it", "'s", " IT", "'", "S", " we", "'ll", "'"}));
}

TEST(Splitter, AttachesTheLastOfSeveralSpacesToTheNextWord) {
    EXPECT_EQ(pieces("a   b\n\n c  "), (Pieces{"a", "  ", " b", "\n\n", " c", "  "}));
}

TEST(Splitter, RecognizesUnicodeLettersAndNumbers) {
    EXPECT_EQ(pieces("\xce\xbc\xce\xb5 \xe6\xbc\xa2x \xd9\xa3\xc2\xb2"),
              (Pieces{"\xce\xbc\xce\xb5", " \xe6\xbc\xa2x", " \xd9\xa3\xc2\xb2"}));
}

TEST(Splitter, TreatsUnicodeWhiteSpaceAsSpaces) {
    const std::vector<std::string> spaces{"\t",           "\n",           "\v",           "\f",
                                          "\r",           "\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80",
                                          "\xe2\x80\x80", "\xe2\x80\x8a", "\xe2\x80\xa8", "\xe2\x80\xa9",
                                          "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80"};
    for (const std::string& space : spaces)
        EXPECT_EQ(pieces("." + space + "."), (Pieces{".", space, "."})) << testing::PrintToString(space);
    // U+001C to U+001F, U+180E and U+200B are not white space.
    for (const std::string other : {"\x1c", "\x1f", "\xe1\xa0\x8e", "\xe2\x80\x8b"})
        EXPECT_EQ(pieces("." + other + "."), Pieces{"." + other + "."}) << testing::PrintToString(other);
}

TEST(Splitter, MakesEachByteOfAMalformedSequenceAPiece) {
    EXPECT_EQ(pieces("ab\xe6\xbc\xff cd"), (Pieces{"ab", "\xe6", "\xbc", "\xff", " cd"}));
}

TEST(ByteAlphabet, SpellsBytesAsGpt2Does) {
    EXPECT_EQ(spell_bytes("a b\n\x7f\xad\xff"),
              "a\xc4\xa0"
              "b\xc4\x8a\xc4\xa1\xc5\x83\xc3\xbf");  // aĠbĊġŃÿ
    EXPECT_EQ(spell_bytes(std::string(1, '\0')), "\xc4\x80");
}

TEST(ByteAlphabet, ReadsItsOwnSpellingOfEveryByte) {
    std::string all;
    for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);

    EXPECT_EQ(parse_spelling(spell_bytes(all)), all);
}

TEST(ByteAlphabet, RejectsOtherCharacters) {
    for (const std::string other : {" ", "a b", "\n", "\xc5\x84", "\xe6\xbc\xa2", "\xc4", "\xff"})
        EXPECT_EQ(parse_spelling(other), std::nullopt) << testing::PrintToString(other);
}

}  // namespace
}  // namespace trireme::data
