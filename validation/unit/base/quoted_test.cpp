#include <gtest/gtest.h>

#include "trireme/base/message_text.hpp"

namespace trireme {
namespace {

TEST(Quoted, LeavesReadableTextAsItIs) {
    EXPECT_EQ(quote_text("runs/\xC3\xA9t\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"),
              "'runs/\xC3\xA9t\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80'");
    EXPECT_EQ(quote_text(""), "''");
}

TEST(Quoted, EscapesControlCharacters) {
    EXPECT_EQ(make_printable("a\nb\tc\rd"), "a\\nb\\tc\\rd");
    EXPECT_EQ(make_printable(std::string("\x1B[31m\0\x7F", 7)), "\\x1b[31m\\x00\\x7f");
    EXPECT_EQ(make_printable("\xC2\x9B"
                             "1A"),
              "\\xc2\\x9b"
              "1A");  // the control sequence introducer of 8-bit terminals
}

TEST(Quoted, EscapesBytesThatAreNotUtf8) {
    EXPECT_EQ(make_printable("\xFF"), "\\xff");
    EXPECT_EQ(make_printable("a\xC3"), "a\\xc3");                           // truncated
    EXPECT_EQ(make_printable("\xC0\xAF"), "\\xc0\\xaf");                    // overlong
    EXPECT_EQ(make_printable("\xED\xA0\x80"), "\\xed\\xa0\\x80");           // a surrogate
    EXPECT_EQ(make_printable("\xF4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond U+10FFFF
    EXPECT_EQ(make_printable("\xC3\xA9\xA9"), "\xC3\xA9\\xa9");             // a stray continuation byte
}

TEST(Quoted, CutsLongTextBetweenCharacters) {
    std::string accents;
    for (int i = 0; i < 101; ++i) accents += "\xC3\xA9";

    EXPECT_EQ(make_printable(std::string(100, 'a')), std::string(100, 'a'));
    EXPECT_EQ(make_printable(std::string(50'000'000, 'a')), std::string(100, 'a') + "...");
    EXPECT_EQ(make_printable(accents), accents.substr(0, 200) + "...");
    EXPECT_EQ(make_printable("abc", 2), "ab...");
}

}  // namespace
}  // namespace trireme
