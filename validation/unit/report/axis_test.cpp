#include "report/axis.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace trireme::report {
namespace {

using Ticks = std::vector<double>;

std::vector<std::string> labels(const Axis& axis) {
    std::vector<std::string> all;
    for (const double tick : axis.ticks()) all.push_back(axis.format_label(tick));
    return all;
}

TEST(TickStep, IsOneTwoOrFiveTimesAPowerOfTen) {
    EXPECT_EQ(choose_tick_step({0, 5}, 6), 1);
    EXPECT_EQ(choose_tick_step({0, 5.1}, 6), 2);
    EXPECT_EQ(choose_tick_step({0, 11}, 6), 5);
    EXPECT_EQ(choose_tick_step({0, 26}, 6), 10);
    EXPECT_EQ(choose_tick_step({1000, 1250}, 6), 50);
    EXPECT_DOUBLE_EQ(choose_tick_step({0, 0.0023}, 6), 0.0005);
}

TEST(TickStep, PutsAtMostTheRequestedNumberOfTicksInAnySpan) {
    for (double high = 0.01; high < 1000; high *= 1.07) {
        for (const double low : {-high, 0.0, high / 3}) {
            const Span span{low, high};
            const std::size_t count = list_linear_ticks(span, choose_tick_step(span, 6)).size();
            EXPECT_LE(count, 6U) << low << " to " << high;
            EXPECT_GE(count, 2U) << low << " to " << high;
        }
    }
}

TEST(LinearTicks, AreTheMultiplesWithinTheSpan) {
    EXPECT_EQ(list_linear_ticks({3, 21}, 5), (Ticks{5, 10, 15, 20}));
    EXPECT_EQ(list_linear_ticks({-5, 5}, 5), (Ticks{-5, 0, 5}));
    EXPECT_EQ(list_linear_ticks({0, 0.1 + 0.2}, 0.1).size(), 4U);
}

TEST(LogTicks, AreSparserForMoreDecades) {
    EXPECT_EQ(list_log_ticks({1, 10}), (Ticks{1, 1.5, 2, 3, 5, 7, 10}));
    EXPECT_EQ(list_log_ticks({3, 300}), (Ticks{5, 10, 20, 50, 100, 200}));
    EXPECT_EQ(list_log_ticks({5, 5e5}), (Ticks{10, 100, 1000, 10000, 100000}));
    EXPECT_LE(list_log_ticks({1e-100, 1e100}).size(), 10U);
}

TEST(Axis, WidensToWholeTicks) {
    const Axis axis({0.3, 9.1}, Scale::linear, 6, true);

    EXPECT_EQ(axis.ticks(), (Ticks{0, 2, 4, 6, 8, 10}));
    EXPECT_EQ(axis.compute_position(0), 0);
    EXPECT_EQ(axis.compute_position(2.5), 0.25);
    EXPECT_EQ(axis.compute_position(10), 1);
}

TEST(Axis, KeepsItsSpanIfNotWidened) {
    const Axis axis({0, 397}, Scale::linear, 6, false);

    EXPECT_EQ(axis.ticks(), (Ticks{0, 100, 200, 300}));
    EXPECT_EQ(axis.compute_position(397), 1);
}

TEST(Axis, PlacesEqualRatiosAtEqualDistancesOnALogScale) {
    const Axis axis({1, 16}, Scale::log, 6, false);

    EXPECT_EQ(axis.compute_position(1), 0);
    EXPECT_DOUBLE_EQ(axis.compute_position(4), 0.5);
    EXPECT_DOUBLE_EQ(axis.compute_position(8), 0.75);
    EXPECT_EQ(axis.compute_position(16), 1);
}

TEST(Axis, LabelsTicksWithNoMoreDigitsThanNeeded) {
    EXPECT_EQ(labels({{0, 1}, Scale::linear, 6, false}),
              (std::vector<std::string>{"0", "0.2", "0.4", "0.6", "0.8", "1.0"}));
    EXPECT_EQ(labels({{0, 24000}, Scale::linear, 6, false}),
              (std::vector<std::string>{"0", "5,000", "10,000", "15,000", "20,000"}));
    EXPECT_EQ(labels({{0, 2e-5}, Scale::linear, 3, false}), (std::vector<std::string>{"0", "1e-5", "2e-5"}));
    EXPECT_EQ(labels({{0.02, 0.1}, Scale::log, 3, false}),
              (std::vector<std::string>{"0.02", "0.03", "0.05", "0.07", "0.1"}));
}

TEST(Axis, GivesAnExtentToASingleValue) {
    for (const double value : {-3.0, 0.0, 5.0, 1e17}) {
        const Axis axis({value, value}, Scale::linear, 6, true);
        EXPECT_GT(axis.compute_position(value), 0) << value;
        EXPECT_LT(axis.compute_position(value), 1) << value;
        EXPECT_GE(axis.ticks().size(), 2U) << value;
    }
}

TEST(Axis, TerminatesForSpansBelowFloatingPointResolution) {
    const Axis axis({1e17, 1e17 + 16}, Scale::linear, 6, true);

    EXPECT_LE(axis.ticks().size(), 8U);
    EXPECT_TRUE(std::isfinite(axis.compute_position(1e17)));
}

}  // namespace
}  // namespace trireme::report
