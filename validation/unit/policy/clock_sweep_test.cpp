#include "trireme/policy/clock_sweep.hpp"

#include <gtest/gtest.h>

namespace trireme::policy {
namespace {

// Returns the costs of a device with clocks from 1530 MHz down in distances of 30 MHz, with these joules at the
// measured clocks.
plan::ReplicaCosts make_measured_replica(const std::vector<double>& joules) {
    plan::ReplicaCosts costs;
    for (int mhz = 1530; mhz >= 500; mhz -= 30) costs.clocks.push_back(mhz);
    for (std::size_t clock = 0; clock < joules.size(); ++clock)
        costs.measured.push_back({.mhz = 1530 - 90 * static_cast<int>(clock), .joules = joules[clock]});
    return costs;
}

TEST(ClockSweep, MeasuresClocksFromTheHighestDown) {
    EXPECT_EQ(find_next_clock(make_measured_replica({})), 1530);
    EXPECT_EQ(find_next_clock(make_measured_replica({20})), 1440);
    EXPECT_EQ(find_next_clock(make_measured_replica({20, 18, 19, 18})), 1170);
    EXPECT_EQ(find_next_clock(make_measured_replica({20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10})), 540);
    EXPECT_EQ(find_next_clock(make_measured_replica({20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9})),
              std::nullopt);
    EXPECT_EQ(count_sweep_steps({{900, 600, 300}, make_measured_replica({}).clocks}), 72U);
}

TEST(ClockSweep, EndsAfterFiveRisesInARow) {
    EXPECT_EQ(find_next_clock(make_measured_replica({20, 18, 19, 20, 21, 22})), 990);
    EXPECT_EQ(find_next_clock(make_measured_replica({20, 18, 19, 20, 21, 22, 23})), std::nullopt);
    EXPECT_EQ(find_next_clock(make_measured_replica({20, 18, 19, 20, 20, 22, 23, 24})), 810);
    EXPECT_EQ(find_next_clock(make_measured_replica({15, 16, 17, 18, 19, 20})), std::nullopt);
}

// The first step at a clock may be much longer than the others.
TEST(ClockSweep, IgnoresUntypicalSteps) {
    EXPECT_DOUBLE_EQ(average_typical({9, 1, 1.2, 0.8, 1, 1}), 1);
    EXPECT_DOUBLE_EQ(average_typical({9, 1, 2}), 4);
    EXPECT_DOUBLE_EQ(average_typical({0.1, 0.1, 0.1, 0.1, 0.1, 0.1}), 0.1);
}

TEST(ClockSweep, AveragesEachCostByItself) {
    std::vector<plan::ClockCost> steps;
    for (int step = 0; step < 6; ++step)
        steps.push_back({.mhz = 900,
                         .forward = step == 2 ? 50.0 : 1.0,
                         .backward = 2,
                         .update = 3,
                         .idle_watts = 4,
                         .busy_watts = step == 5 ? 90.0 : 5.0,
                         .joules = 6,
                         .step_seconds = 7});

    EXPECT_EQ(average_costs(steps), (plan::ClockCost{.mhz = 900,
                                                     .forward = 1,
                                                     .backward = 2,
                                                     .update = 3,
                                                     .idle_watts = 4,
                                                     .busy_watts = 5,
                                                     .joules = 6,
                                                     .step_seconds = 7}));
}

}  // namespace
}  // namespace trireme::policy
