#include <gtest/gtest.h>

#include "app/options/options.hpp"
#include "error_message.hpp"
#include "unit/app/arguments.hpp"

namespace trireme::app {
namespace {

using validation::says;

std::vector<config::SlowRank> slow(const std::string& options) { return train_config(options).emulation.slow; }

std::string slow_complaint(const std::string& value) {
    return complaint("train --corpus a.h5 --steps 5 --slow " + value);
}

TEST(SlowOption, SetsRankFactorAndSteps) {
    const std::vector<config::SlowRank> given = slow("--slow rank=3,factor=4,steps=100:200");

    ASSERT_EQ(given.size(), 1U);
    EXPECT_EQ(given[0].rank, 3);
    EXPECT_EQ(given[0].factor, 4);
    EXPECT_EQ(given[0].first_step, 100U);
    EXPECT_EQ(given[0].last_step, 200U);
    EXPECT_TRUE(slow("").empty());
    EXPECT_TRUE(slow("--slow off").empty());
}

TEST(SlowOption, MayOmitTheStepsOrTheirEnd) {
    EXPECT_EQ(slow("--slow factor=1.5,rank=0")[0].first_step, 1U);
    EXPECT_EQ(slow("--slow factor=1.5,rank=0")[0].last_step, std::nullopt);
    EXPECT_EQ(slow("--slow steps=7:,factor=1.5,rank=0")[0].first_step, 7U);
    EXPECT_EQ(slow("--slow steps=7:,factor=1.5,rank=0")[0].last_step, std::nullopt);
    EXPECT_EQ(slow("--slow rank=0,factor=2,steps=7")[0].first_step, 7U);
    EXPECT_EQ(slow("--slow rank=0,factor=2,steps=7")[0].last_step, 7U);
}

TEST(SlowOption, MayBeGivenSeveralTimes) {
    const config::RunConfig config =
        train_config("--slow rank=1,factor=2 --slow rank=2,factor=3,steps=5:;rank=1,factor=4,steps=6");

    EXPECT_EQ(config.emulation.slow.size(), 3U);
    EXPECT_NE(config.ini_text.find("\n[emulation]\n"), std::string::npos);
    EXPECT_NE(config.ini_text.find(
                  "\nslow = \"rank=1,factor=2;rank=2,factor=3,steps=5:;rank=1,factor=4,steps=6:6\"\n"),
              std::string::npos);
    EXPECT_NE(train_config("").ini_text.find("\nslow = off\n"), std::string::npos);
    const auto plan = std::get<tools::PlanConfig>(parse("plan --slow rank=1,factor=2 --slow rank=2,factor=3"));
    EXPECT_EQ(plan.run.emulation.slow.size(), 2U);
}

TEST(SlowOption, MaySlowDownMatmulsOnly) {
    EXPECT_EQ(slow("--slow rank=0,factor=2")[0].kernels, config::SlowKernels::all);
    EXPECT_EQ(slow("--slow rank=0,factor=2,on=all")[0].kernels, config::SlowKernels::all);
    EXPECT_EQ(slow("--slow on=products,rank=0,factor=2")[0].kernels, config::SlowKernels::matmuls);
}

TEST(SlowOption, MaySelectRanksInTurnOrAtRandom) {
    const config::SlowRank turn = slow("--slow factor=4,rank=turn,steps=3:9")[0];
    const config::SlowRank random = slow("--slow factor=2:4.5,every=50,rank=random")[0];

    EXPECT_EQ(turn.choice, config::SlowChoice::turn);
    EXPECT_EQ(turn.factor, 4);
    EXPECT_EQ(turn.first_step, 3U);
    EXPECT_EQ(turn.last_step, 9U);
    EXPECT_EQ(turn.every, std::nullopt);
    EXPECT_EQ(random.choice, config::SlowChoice::random);
    EXPECT_EQ(random.factor, 2);
    EXPECT_EQ(random.highest_factor, 4.5);
    EXPECT_EQ(random.every, 50U);
    EXPECT_EQ(slow("--slow rank=random,factor=2")[0].highest_factor, std::nullopt);
}

TEST(SlowOption, MayNameATrace) {
    const std::vector<config::SlowRank> given = slow("--slow trace=traces/a=1.csv;rank=1,factor=2");

    ASSERT_EQ(given.size(), 2U);
    EXPECT_EQ(given[0].choice, config::SlowChoice::trace);
    EXPECT_EQ(given[0].trace, "traces/a=1.csv");
    EXPECT_EQ(given[1].choice, config::SlowChoice::named);
}

TEST(SlowOption, IsPrintedAsItIsRead) {
    for (const std::string text :
         {"rank=3,factor=4,steps=100:200", "rank=0,factor=1.5,on=products", "rank=turn,factor=4",
          "rank=turn,factor=4,steps=3:,every=5,on=products", "rank=random,factor=2,every=1",
          "rank=random,factor=2:4.5,steps=2:9", "trace=traces/a.csv",
          "rank=random,factor=2:2;trace=a.csv;rank=1,factor=2"}) {
        EXPECT_TRUE(says(train_config("--slow " + text).ini_text, text)) << text;
    }
    EXPECT_TRUE(says(train_config("--slow rank=0,factor=2,on=all").ini_text, "\nslow = rank=0,factor=2\n"));
}

TEST(SlowOption, RejectsMissingRepeatedAndUnknownSettings) {
    const std::string form =
        "--slow expects settings such as rank=3,factor=4,steps=100:200, with ; between settings, not ";

    EXPECT_EQ(slow_complaint("rank=3"), form + "'rank=3'");
    EXPECT_EQ(slow_complaint("factor=3"), form + "'factor=3'");
    EXPECT_EQ(slow_complaint("3"), form + "'3'");
    EXPECT_EQ(slow_complaint("rank=3,factor"), form + "'rank=3,factor'");
    EXPECT_EQ(slow_complaint("rank=3,rank=4,factor=2"), form + "'rank=3,rank=4,factor=2'");
    EXPECT_EQ(slow_complaint("rank=3,factors=2"), form + "'rank=3,factors=2'; did you mean factor?");
    EXPECT_EQ(slow_complaint("rank=3,factor=2;"), form + "'rank=3,factor=2;'");
    EXPECT_EQ(slow_complaint("rank=3,factor=2 --slow off"), form + "'off'");
}

TEST(SlowOption, RejectsInvalidRanksAndFactors) {
    const std::string factors = "--slow factor expects a number from 1 to 1000, not ";

    EXPECT_EQ(slow_complaint("rank=-1,factor=2"), "--slow rank expects a whole number of at least 0, not '-1'");
    EXPECT_EQ(slow_complaint("rank=0,factor=0.5"), factors + "'0.5'");
    EXPECT_EQ(slow_complaint("rank=0,factor=nan"), factors + "'nan'");
    EXPECT_EQ(slow_complaint("rank=0,factor=inf"), factors + "'inf'");
    EXPECT_EQ(slow_complaint("rank=0,factor=four"), factors + "'four'");
    EXPECT_EQ(slow_complaint("rank=0,factor="), factors + "''");
}

TEST(SlowOption, RejectsUnknownWords) {
    EXPECT_EQ(slow_complaint("rank=turns,factor=2"),
              "--slow rank expects a whole number, turn or random, not 'turns'; did you mean turn?");
    EXPECT_EQ(slow_complaint("rank=Random,factor=2"),
              "--slow rank expects a whole number, turn or random, not 'Random'; did you mean random?");
    EXPECT_EQ(slow_complaint("rank=three,factor=2"),
              "--slow rank expects a whole number, turn or random, not 'three'");
    EXPECT_EQ(slow_complaint("rank=0,factor=2,on=product"),
              "--slow on expects one of all, products, not 'product'; did you mean products?");
    EXPECT_EQ(slow_complaint("rank=turn,factor=2,evry=3"),
              "--slow expects settings such as rank=3,factor=4,steps=100:200, with ; between settings, not "
              "'rank=turn,factor=2,evry=3'; did you mean every?");
}

TEST(SlowOption, RejectsInvalidFactorRanges) {
    EXPECT_EQ(slow_complaint("rank=0,factor=2:4"),
              "--slow factor expects a single number (only rank=random takes a range), not '2:4'");
    EXPECT_EQ(slow_complaint("rank=random,factor=4:2"),
              "--slow factor expects a highest factor that is not below the lowest, such as 2:4, not '4:2'");
    EXPECT_EQ(slow_complaint("rank=random,factor=2:3:4"),
              "--slow factor expects the lowest and the highest factor, such as 2:4, not '2:3:4'");
    EXPECT_EQ(slow_complaint("rank=random,factor=2:"), "--slow factor expects a number from 1 to 1000, not ''");
}

TEST(SlowOption, RejectsInvalidPeriods) {
    EXPECT_EQ(slow_complaint("rank=turn,factor=2,every=0"),
              "--slow every expects a whole number of at least 1, not '0'");
    EXPECT_EQ(slow_complaint("rank=3,factor=2,every=5"),
              "--slow every=5 has no effect with rank=3, which is always the same rank; drop every=5, or use "
              "rank=turn or rank=random");
}

TEST(SlowOption, RejectsATraceWithOtherSettings) {
    const std::string alone =
        "--slow expects trace=FILE alone (the file says which ranks are slow and when), not ";

    EXPECT_EQ(slow_complaint("trace=a.csv,factor=2"), alone + "'trace=a.csv,factor=2'");
    EXPECT_EQ(slow_complaint("on=products,trace=a.csv"), alone + "'on=products,trace=a.csv'");
    EXPECT_EQ(slow_complaint("trace="), "--slow trace expects the name of a file, not ''");
    EXPECT_EQ(slow_complaint("trce=a.csv"),
              "--slow expects settings such as rank=3,factor=4,steps=100:200, with ; between settings, not "
              "'trce=a.csv'; did you mean trace?");
}

TEST(SlowOption, RejectsInvalidSteps) {
    EXPECT_EQ(slow_complaint("rank=0,factor=2,steps=0"),
              "--slow steps expects a whole number of at least 1, not '0'");
    EXPECT_EQ(slow_complaint("rank=0,factor=2,steps="),
              "--slow steps expects a whole number of at least 1, not ''");
    EXPECT_EQ(slow_complaint("rank=0,factor=2,steps=:5"),
              "--slow steps expects a whole number of at least 1, not ''");
    EXPECT_EQ(slow_complaint("rank=0,factor=2,steps=5:3"),
              "--slow steps expects a last step that is not before the first, such as 100:200, not '5:3'");
    EXPECT_EQ(slow_complaint("rank=0,factor=2,steps=1:2:3"),
              "--slow steps expects the first and the last step, such as 100:200, or 100: for all steps from "
              "100, not '1:2:3'");
}

}  // namespace
}  // namespace trireme::app
