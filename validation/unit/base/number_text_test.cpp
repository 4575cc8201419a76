#include <gtest/gtest.h>

#include "trireme/base/numbers.hpp"

namespace trireme {
namespace {

TEST(NumberText, GroupsDigits) {
    EXPECT_EQ(with_commas(0), "0");
    EXPECT_EQ(with_commas(999), "999");
    EXPECT_EQ(with_commas(1000), "1,000");
    EXPECT_EQ(with_commas(12345678), "12,345,678");
}

TEST(NumberText, CountsBytes) {
    EXPECT_EQ(bytes_text(0), "0.0 MB");
    EXPECT_EQ(bytes_text(999'900'000), "999.9 MB");
    EXPECT_EQ(bytes_text(28'700'000'000), "28.7 GB");
    EXPECT_EQ(bytes_text(80'000'000'000), "80.0 GB");
}

TEST(NumberText, CountsThings) {
    EXPECT_EQ(counted(1, "rank"), "1 rank");
    EXPECT_EQ(counted(0, "rank"), "0 ranks");
    EXPECT_EQ(counted(1024, "rank"), "1,024 ranks");
    EXPECT_EQ(counted(2, "micro-batch"), "2 micro-batches");
}

}  // namespace
}  // namespace trireme
