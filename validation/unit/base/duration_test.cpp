#include <gtest/gtest.h>

#include "trireme/base/numbers.hpp"

namespace trireme {
namespace {

TEST(Duration, IsReadInUnitsFromDaysToSeconds) {
    EXPECT_EQ(parse_duration("3h50m"), 13800);
    EXPECT_EQ(parse_duration("1d2h3m4s"), 93784);
    EXPECT_EQ(parse_duration("90"), 90);
    EXPECT_EQ(parse_duration("0s"), 0);
    EXPECT_EQ(parse_duration("120m"), 7200);
}

TEST(Duration, RejectsMalformedText) {
    for (const char* text :
         {"", "h", "3h50", "50m3h", "3h3h", "-1h", "1.5h", "3 h", "3hours", "99999999999999d", "1w"})
        EXPECT_FALSE(parse_duration(text)) << text;
}

TEST(Duration, IsFormattedAsTextThatParsesBack) {
    EXPECT_EQ(format_duration(13800), "3h50m");
    EXPECT_EQ(format_duration(0), "0s");
    for (const double seconds : {1.0, 59.0, 60.0, 3600.0, 86399.0, 86400.0, 1e6})
        EXPECT_EQ(parse_duration(format_duration(seconds)), seconds);
}

}  // namespace
}  // namespace trireme
