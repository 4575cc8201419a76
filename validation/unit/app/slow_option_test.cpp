#include "app/slow_option.hpp"

#include <gtest/gtest.h>

#include "unit/app/arguments.hpp"

namespace trireme::app {
namespace {

std::vector<SlowRank> slow(const std::string& options) { return train_config(options).emulation.slow; }

std::string slow_complaint(const std::string& value) {
    return complaint("train --corpus a.h5 --steps 5 --slow " + value);
}

TEST(SlowOption, SaysWhichRankIsHowSlowAndWhen) {
    const std::vector<SlowRank> given = slow("--slow rank=3,factor=4,steps=100:200");

    ASSERT_EQ(given.size(), 1U);
    EXPECT_EQ(given[0].rank, 3);
    EXPECT_EQ(given[0].factor, 4);
    EXPECT_EQ(given[0].first_step, 100U);
    EXPECT_EQ(given[0].last_step, 200U);
    EXPECT_TRUE(slow("").empty());
    EXPECT_TRUE(slow("--slow off").empty());
}

TEST(SlowOption, MayLeaveStepsOut) {
    EXPECT_EQ(slow("--slow factor=1.5,rank=0")[0].first_step, 1U);
    EXPECT_EQ(slow("--slow factor=1.5,rank=0")[0].last_step, std::nullopt);
    EXPECT_EQ(slow("--slow steps=7:,factor=1.5,rank=0")[0].first_step, 7U);
    EXPECT_EQ(slow("--slow steps=7:,factor=1.5,rank=0")[0].last_step, std::nullopt);
    EXPECT_EQ(slow("--slow rank=0,factor=2,steps=7")[0].first_step, 7U);
    EXPECT_EQ(slow("--slow rank=0,factor=2,steps=7")[0].last_step, 7U);
}

TEST(SlowOption, MayComeSeveralTimes) {
    const RunConfig config =
        train_config("--slow rank=1,factor=2 --slow rank=2,factor=3,steps=5:;rank=1,factor=4,steps=6");

    EXPECT_EQ(config.emulation.slow.size(), 3U);
    EXPECT_NE(config.resolved.find("\n[emulation]\n"), std::string::npos);
    EXPECT_NE(config.resolved.find(
                  "\nslow = \"rank=1,factor=2;rank=2,factor=3,steps=5:;rank=1,factor=4,steps=6:6\"\n"),
              std::string::npos);
    EXPECT_NE(train_config("").resolved.find("\nslow = off\n"), std::string::npos);
    const auto plan = std::get<PlanConfig>(parse("plan --slow rank=1,factor=2 --slow rank=2,factor=3"));
    EXPECT_EQ(plan.run.emulation.slow.size(), 2U);
}

TEST(SlowOption, RefusesWhatItDoesNotKnow) {
    const std::string form =
        "--slow expects ranks such as rank=3,factor=4,steps=100:200, with ; between several, not ";

    EXPECT_EQ(slow_complaint("rank=3"), form + "'rank=3'");
    EXPECT_EQ(slow_complaint("factor=3"), form + "'factor=3'");
    EXPECT_EQ(slow_complaint("3"), form + "'3'");
    EXPECT_EQ(slow_complaint("rank=3,factor"), form + "'rank=3,factor'");
    EXPECT_EQ(slow_complaint("rank=3,rank=4,factor=2"), form + "'rank=3,rank=4,factor=2'");
    EXPECT_EQ(slow_complaint("rank=3,factors=2"), form + "'rank=3,factors=2'; did you mean factor?");
    EXPECT_EQ(slow_complaint("rank=3,factor=2;"), form + "'rank=3,factor=2;'");
    EXPECT_EQ(slow_complaint("rank=3,factor=2 --slow off"), form + "'off'");
}

TEST(SlowOption, RefusesWhatIsNoRankAndNoFactor) {
    const std::string factors = "--slow factor expects a number from 1 to 1000, not ";

    EXPECT_EQ(slow_complaint("rank=-1,factor=2"), "--slow rank expects a whole number of at least 0, not '-1'");
    EXPECT_EQ(slow_complaint("rank=0,factor=0.5"), factors + "'0.5'");
    EXPECT_EQ(slow_complaint("rank=0,factor=nan"), factors + "'nan'");
    EXPECT_EQ(slow_complaint("rank=0,factor=inf"), factors + "'inf'");
    EXPECT_EQ(slow_complaint("rank=0,factor=four"), factors + "'four'");
    EXPECT_EQ(slow_complaint("rank=0,factor="), factors + "''");
}

TEST(SlowOption, RefusesStepsThatAreNone) {
    EXPECT_EQ(slow_complaint("rank=0,factor=2,steps=0"),
              "--slow steps expects a whole number of at least 1, not '0'");
    EXPECT_EQ(slow_complaint("rank=0,factor=2,steps="),
              "--slow steps expects a whole number of at least 1, not ''");
    EXPECT_EQ(slow_complaint("rank=0,factor=2,steps=:5"),
              "--slow steps expects a whole number of at least 1, not ''");
    EXPECT_EQ(slow_complaint("rank=0,factor=2,steps=5:3"),
              "--slow steps expects a last step that is not before the first, such as 100:200, not '5:3'");
    EXPECT_EQ(slow_complaint("rank=0,factor=2,steps=1:2:3"),
              "--slow steps expects the first and the last step, such as 100:200, or 100: from there on, not "
              "'1:2:3'");
}

}  // namespace
}  // namespace trireme::app
