#include "trireme/policy/clocks.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "trireme/base/random.hpp"

namespace trireme::policy {
namespace {

constexpr int highest_mhz = 1000;

schedule::Program parse(const std::string& text) {
    std::istringstream words(text);
    schedule::Program program;
    for (std::string word; words >> word;) program.push_back(schedule::parse_instruction(word, "the test"));
    return program;
}

// A pass takes a second at the highest clock.
double find_seconds(const schedule::Instruction& /*pass*/, int mhz) {
    return static_cast<double>(highest_mhz) / mhz;
}

std::string join(const std::string& program, double min_seconds) {
    return to_string(join_short_runs(parse(program), min_seconds, find_seconds));
}

TEST(Clocks, AreTriedFromTheHighestOneInDistancesOf90Mhz) {
    std::vector<int> v100;
    for (int mhz = 1530; mhz >= 810; mhz -= 30) v100.push_back(mhz);

    EXPECT_EQ(list_candidate_clocks(v100),
              (std::vector<int>{1530, 1440, 1350, 1260, 1170, 1080, 990, 900, 810}));
}

TEST(Clocks, AreTheNearestListedOnes) {
    EXPECT_EQ(list_candidate_clocks({1410, 1305, 1200, 1000}), (std::vector<int>{1410, 1305, 1200, 1000}));
    EXPECT_EQ(list_candidate_clocks({1410}), (std::vector<int>{1410}));
    EXPECT_EQ(list_candidate_clocks({1410, 1400}), (std::vector<int>{1410}));
}

TEST(Clocks, NeedTheFewestJoulesOnEachDevice) {
    EXPECT_EQ(find_best_clocks({{5, 5, 5}, {4, 5, 6}, {3, 6, 4}}), (std::vector<std::size_t>{2, 0, 2}));
}

TEST(ShortRuns, JoinTheNeighbourWithTheNearestClock) {
    EXPECT_EQ(join("CLOCK500 0F0 0F1 CLOCK800 0B0 CLOCK1000 0B1 0B2", 2),
              "CLOCK500 0F0 0F1 CLOCK1000 0B0 0B1 0B2");
    EXPECT_EQ(join("CLOCK1000 0F0 0F1 CLOCK500 0B0 CLOCK500 0B1", 3), "CLOCK1000 0F0 0F1 0B0 0B1");
    EXPECT_EQ(join("CLOCK500 0F0 0F1 CLOCK1000 0B0", 2), "CLOCK1000 0F0 0F1 0B0");
}

// Two passes at 500 MHz take four seconds, but only two at 1000 MHz.
TEST(ShortRuns, MayBecomeShortAtAHigherClock) {
    EXPECT_EQ(join("CLOCK500 0F0 0F1 CLOCK1000 0B0 CLOCK250 0B1", 3.5), "CLOCK1000 0F0 0F1 0B0 0B1");
    EXPECT_EQ(join("CLOCK500 0F0 0F1 CLOCK1000 0B0 CLOCK250 0B1", 3), "CLOCK1000 0F0 0F1 0B0 CLOCK250 0B1");
}

// The clock of a pass never depends on what was executed before the STEP, even if the clocks are equal.
TEST(ShortRuns, KeepAClockAfterAStep) {
    EXPECT_EQ(join("CLOCK500 0F0 CLOCK1000 0B0 STEP0 CLOCK500 0F1 0F2", 2),
              "CLOCK500 0F0 CLOCK1000 0B0 STEP0 CLOCK1000 0F1 0F2");
    EXPECT_EQ(join("CLOCK500 0F0 0B0 STEP0 CLOCK1000 0F1", 2), "CLOCK1000 0F0 0B0 STEP0 CLOCK1000 0F1");
}

TEST(ShortRuns, StayIfThereIsNoMinimum) {
    const std::string program = "CLOCK500 0F1 0SEND_F1 CLOCK800 0B0 STEP0";

    EXPECT_EQ(join(program, 0), program);
    EXPECT_EQ(join("0F0 0B0", 1), "0F0 0B0");
    EXPECT_EQ(join("", 1), "");
}

struct PassClock {
    schedule::Instruction pass;
    int mhz;
};

std::vector<PassClock> list_pass_clocks(const schedule::Program& program) {
    std::vector<PassClock> clocks;
    int mhz = highest_mhz;
    for (const schedule::Instruction& each : program) {
        if (each.op == schedule::Op::set_clock)
            mhz = each.mhz;
        else
            clocks.push_back({each, mhz});
    }
    return clocks;
}

TEST(ShortRuns, AreGoneAndNoPassIsSlower) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const RandomKey key{seed};
        std::uint64_t draws = 0;
        const auto draw = [&](std::uint64_t count) { return key.then(draws++).bits % count; };
        schedule::Program program;
        for (int pass = 0; pass < 12; ++pass) {
            if (pass == 0 || draw(2) == 0)
                program.push_back({.op = schedule::Op::set_clock, .mhz = 250 * static_cast<int>(1 + draw(4))});
            program.push_back({.op = schedule::Op::forward, .microbatch = pass});
        }
        const double min_seconds = static_cast<double>(1 + draw(6));

        const std::vector<PassClock> before = list_pass_clocks(program);
        const std::vector<PassClock> after =
            list_pass_clocks(join_short_runs(program, min_seconds, find_seconds));

        ASSERT_EQ(before.size(), after.size());
        std::vector<double> run_seconds;
        for (std::size_t i = 0; i < after.size(); ++i) {
            EXPECT_EQ(after[i].pass, before[i].pass);
            EXPECT_GE(after[i].mhz, before[i].mhz);
            if (i == 0 || after[i].mhz != after[i - 1].mhz) run_seconds.push_back(0);
            run_seconds.back() += find_seconds(after[i].pass, after[i].mhz);
        }
        if (run_seconds.size() == 1) continue;
        for (const double seconds : run_seconds) EXPECT_GE(seconds, min_seconds);
    }
}

// Backwards take 2 s. At 900 of 1530 MHz, a forward takes 0.9 * 1530 / 900 + 0.1 s.
TEST(ExtraForwards, FillTheTimeUntilTheFirstBackwardComesBack) {
    const std::vector<WarmUpFacts> stages(4, {.backward_seconds = 2, .forward_seconds = 1.63, .max_extra = 4});

    EXPECT_EQ(compute_extra_forwards(stages), (std::vector<int>{3, 2, 1, 0}));
}

TEST(ExtraForwards, NeverRise) {
    const WarmUpFacts facts{.backward_seconds = 2, .forward_seconds = 1, .max_extra = 9};
    WarmUpFacts full = facts;
    full.max_extra = 1;
    WarmUpFacts overfull = facts;
    overfull.max_extra = -2;

    EXPECT_EQ(compute_extra_forwards({facts, facts, facts}), (std::vector<int>{4, 2, 0}));
    EXPECT_EQ(compute_extra_forwards({full, facts, facts}), (std::vector<int>{1, 1, 0}));
    EXPECT_EQ(compute_extra_forwards({overfull, facts, facts}), (std::vector<int>{0, 0, 0}));
    EXPECT_EQ(compute_extra_forwards({facts}), (std::vector<int>{0}));
}

}  // namespace
}  // namespace trireme::policy
