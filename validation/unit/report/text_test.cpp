#include <gtest/gtest.h>

#include "report/html.hpp"

namespace trireme::report {
namespace {

TEST(EscapedText, ContainsNoCharactersSpecialToHtml) {
    EXPECT_EQ(escape_html("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
    EXPECT_EQ(escape_html("&lt;"), "&amp;lt;");
    EXPECT_EQ(escape_html("größer, 12 %\n"), "größer, 12 %\n");
}

TEST(Table, HasAHeaderRowAndRowNames) {
    EXPECT_EQ(make_table({{"", "Value"}, {"Steps", "4"}}, true),
              "<table>\n<tr><th></th><th>Value</th></tr>\n<tr><th>Steps</th><td>4</td></tr>\n</table>\n");
}

TEST(NumberText, GroupsDigitsByThree) {
    EXPECT_EQ(format_with_commas(0), "0");
    EXPECT_EQ(format_with_commas(999), "999");
    EXPECT_EQ(format_with_commas(1000), "1,000");
    EXPECT_EQ(format_with_commas(1098250), "1,098,250");
    EXPECT_EQ(format_with_commas(-123456), "-123,456");
    EXPECT_EQ(format_with_commas(-123), "-123");
}

TEST(NumberText, HasFourSignificantDigits) {
    EXPECT_EQ(format_significant(0.77449570572526), "0.7745");
    EXPECT_EQ(format_significant(17490.28), "17,490");
    EXPECT_EQ(format_significant(3.417433582542096e-08), "3.417e-8");
    EXPECT_EQ(format_significant(5e-12), "5e-12");
    EXPECT_EQ(format_significant(2), "2");
}

TEST(NumberText, IncludesItsUnit) {
    EXPECT_EQ(format_percent(0.37600423), "37.6 %");
    EXPECT_EQ(format_megabytes(112979968), "113.0 MB");
    EXPECT_EQ(format_gigaflops(119478006454.05968), "119.5 GFLOP/s");
    EXPECT_EQ(format_plural(1, "rank"), "1 rank");
    EXPECT_EQ(format_plural(1200, "rank"), "1,200 ranks");
}

TEST(NumberText, GivesDurationsInSuitableUnits) {
    EXPECT_EQ(format_duration(0), "0.00 s");
    EXPECT_EQ(format_duration(7.5487), "7.55 s");
    EXPECT_EQ(format_duration(53.91), "53.9 s");
    EXPECT_EQ(format_duration(62.792), "1 min 3 s");
    EXPECT_EQ(format_duration(7500), "2 h 5 min");
}

}  // namespace
}  // namespace trireme::report
