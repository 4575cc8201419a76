#include <gtest/gtest.h>

#include "trireme/base/numbers.hpp"

namespace trireme {
namespace {

TEST(NumberText, GroupsDigits) {
    EXPECT_EQ(format_with_commas(0), "0");
    EXPECT_EQ(format_with_commas(999), "999");
    EXPECT_EQ(format_with_commas(1000), "1,000");
    EXPECT_EQ(format_with_commas(12345678), "12,345,678");
}

TEST(NumberText, FormatsBytesInMegabytesOrGigabytes) {
    EXPECT_EQ(format_bytes(0), "0.0 MB");
    EXPECT_EQ(format_bytes(999'900'000), "999.9 MB");
    EXPECT_EQ(format_bytes(28'700'000'000), "28.7 GB");
    EXPECT_EQ(format_bytes(80'000'000'000), "80.0 GB");
}

TEST(NumberText, PluralizesCountedNouns) {
    EXPECT_EQ(format_count(1, "rank"), "1 rank");
    EXPECT_EQ(format_count(0, "rank"), "0 ranks");
    EXPECT_EQ(format_count(1024, "rank"), "1,024 ranks");
    EXPECT_EQ(format_count(2, "micro-batch"), "2 micro-batches");
}

}  // namespace
}  // namespace trireme
