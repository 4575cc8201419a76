#include "trireme/setup/slow_trace.hpp"

#include <gtest/gtest.h>

#include "error_message.hpp"
#include "trireme/base/error.hpp"

namespace trireme::setup {
namespace {

SlowTrace trace_of(const std::string& text) { return parse_slow_trace(text, "slow.csv", 4); }

std::string complaint(const std::string& text) {
    return validation::catch_message<ConfigError>([&] { trace_of(text); });
}

std::string complaint_of_line(const std::string& line) { return complaint("step,rank,factor,on\n" + line); }

TEST(SlowTrace, SetsTheFactorOfARankFromAStepOn) {
    const SlowTrace trace = trace_of("step,rank,factor\n3,1,4\n5,0,1.5\n7,1,2\n9,1,1\n");

    EXPECT_EQ(find_slowness(trace, 1, 2), device::SlowFactors{});
    EXPECT_EQ(find_slowness(trace, 1, 3), device::SlowFactors{.all = 4});
    EXPECT_EQ(find_slowness(trace, 1, 6), device::SlowFactors{.all = 4});
    EXPECT_EQ(find_slowness(trace, 1, 7), device::SlowFactors{.all = 2});
    EXPECT_EQ(find_slowness(trace, 1, 9), device::SlowFactors{});
    EXPECT_EQ(find_slowness(trace, 0, 1000), device::SlowFactors{.all = 1.5});
    EXPECT_EQ(find_slowness(trace, 3, 8), device::SlowFactors{});
    EXPECT_EQ(trace.change_steps, (std::set<std::size_t>{3, 5, 7, 9}));
}

TEST(SlowTrace, ReplacesTheFactorOfAnEarlierLine) {
    const SlowTrace trace = trace_of("step,rank,factor,on\n1,1,4,all\n2,1,3,products\n3,1,2,\n");

    EXPECT_EQ(find_slowness(trace, 1, 1), device::SlowFactors{.all = 4});
    EXPECT_EQ(find_slowness(trace, 1, 2), device::SlowFactors{.matmuls = 3});
    EXPECT_EQ(find_slowness(trace, 1, 3), device::SlowFactors{.all = 2});
}

TEST(SlowTrace, IgnoresLinesThatRepeatAFactor) {
    const SlowTrace trace = trace_of("step,rank,factor\n1,0,1\n2,1,4\n3,1,4\n3,0,2\n4,1,4\n");

    EXPECT_EQ(trace.change_steps, (std::set<std::size_t>{2, 3}));
    EXPECT_EQ(find_slowness(trace, 1, 4), device::SlowFactors{.all = 4});
}

TEST(SlowTrace, MayHaveCommentsAndBlanks) {
    const SlowTrace trace =
        trace_of("# throttled\r\n\r\n step , rank,factor # header\r\n  # later\n 3, 1 ,4 # hot\r\n5,1,1");

    EXPECT_EQ(find_slowness(trace, 1, 4), device::SlowFactors{.all = 4});
    EXPECT_EQ(find_slowness(trace, 1, 5), device::SlowFactors{});
}

TEST(SlowTrace, MustBeginWithItsHeader) {
    const std::string header = "slow.csv, line 1: the header is step,rank,factor or step,rank,factor,on, not ";

    EXPECT_EQ(complaint("3,1,4\n"), header + "'3,1,4'");
    EXPECT_EQ(complaint("step,rank\n"), header + "'step,rank'");
    EXPECT_EQ(complaint("rank,step,factor\n"), header + "'rank,step,factor'");
    EXPECT_EQ(complaint("step,rank,factors\n3,1,4\n"), header + "'step,rank,factors'; did you mean factor?");
    EXPECT_EQ(complaint("step,rank,factor,on,to\n"), header + "'step,rank,factor,on,to'");
    EXPECT_EQ(complaint("# nothing\n"),
              "slow.csv has no header; begin the file with the line step,rank,factor");
    EXPECT_EQ(
        complaint("step,rank,factor\n# nothing\n"),
        "slow.csv has no line after its header; add lines such as 3,1,4: from step 3 on, rank 1 has the factor "
        "4");
}

TEST(SlowTrace, NamesTheLineOfAnError) {
    const std::string line = "slow.csv, line 2: ";

    EXPECT_EQ(complaint_of_line("0,1,4,all"), line + "step expects a whole number of at least 1, not '0'");
    EXPECT_EQ(complaint_of_line("x,1,4,all"), line + "step expects a whole number of at least 1, not 'x'");
    EXPECT_EQ(complaint_of_line("1,-1,4,all"), line + "rank expects a whole number of at least 0, not '-1'");
    EXPECT_EQ(complaint_of_line("1,turn,4,all"),
              line + "rank expects a whole number of at least 0, not 'turn'");
    EXPECT_EQ(complaint_of_line("1,1,0.5,all"), line + "factor expects a number from 1 to 1000, not '0.5'");
    EXPECT_EQ(complaint_of_line("1,1,nan,all"), line + "factor expects a number from 1 to 1000, not 'nan'");
    EXPECT_EQ(complaint_of_line("1,1,,all"), line + "factor expects a number from 1 to 1000, not ''");
    EXPECT_EQ(complaint_of_line("1,1,4,product"),
              line + "on expects one of all, products, not 'product'; did you mean products?");
    EXPECT_EQ(complaint_of_line("1,1,4"),
              "slow.csv, line 2 has 3 cells, but the header names 4 columns; write one cell per column");
    EXPECT_EQ(complaint_of_line("1"),
              "slow.csv, line 2 has 1 cell, but the header names 4 columns; write one cell per column");
    EXPECT_EQ(complaint_of_line("1,4,2,all"),
              "slow.csv, line 2 names rank 4, but the job has ranks 0 to 3; name one of these");
}

TEST(SlowTrace, MustBeInTheOrderOfItsSteps) {
    EXPECT_EQ(complaint("step,rank,factor\n# first\n7,1,4\n3,1,1\n"),
              "slow.csv, line 4 has step 3, but the line before it has step 7; sort the lines by step");
    EXPECT_EQ(complaint("step,rank,factor\n7,1,4\n7,0,4\n7,1,1\n"),
              "slow.csv, line 4 names rank 1 a second time for step 7; keep one of the two lines");
}

}  // namespace
}  // namespace trireme::setup
