#include <gtest/gtest.h>

#include "trireme/setup/energy_clocks.hpp"

namespace trireme::setup {
namespace {

// Makes a plan of two stages with two replicas. Teams 0 and 2 hold the first stage, and execute four
// micro-batches each.
plan::Plan make_plan_with_turns(const std::string& turns_of_last_stage) {
    const layout::Layout layout = plan::parse_layout(
        R"({"layers": 4, "stages": [{"layers": [0, 2], "replicas": [{"ranks": [0]}, {"ranks": [1]}]}, )"
        R"({"layers": [2, 4], "replicas": [{"ranks": [2], "turns": )" +
            turns_of_last_stage + R"(}, {"ranks": [3]}]}]})",
        "this test");
    return plan::make_plan({.layout = layout, .microbatches = 8, .is_per_replica = false});
}

std::vector<std::size_t> list_groups(const plan::Plan& plan, const std::vector<schedule::TeamClocks>& clocks) {
    std::vector<std::size_t> groups;
    for (const policy::ClockedTeam& team : list_clocked_teams(plan, clocks)) groups.push_back(team.group);
    return groups;
}

const schedule::TeamClocks two_clocks{.mhz = {900, 600}, .idle_watts = {10, 10}};

TEST(ClockedTeams, AreGroupedIfTheirPassesCorrespond) {
    const std::vector<schedule::TeamClocks> equal(4, two_clocks);
    std::vector<schedule::TeamClocks> unequal = equal;
    unequal[3].mhz = {900, 300};

    EXPECT_EQ(list_groups(make_plan_with_turns("1"), equal), (std::vector<std::size_t>{0, 1, 0, 1}));
    EXPECT_EQ(list_groups(make_plan_with_turns("1"), unequal), (std::vector<std::size_t>{0, 1, 0, 3}));
}

// The replicas of the first stage execute equally many micro-batches, but their warm-ups differ.
TEST(ClockedTeams, AreNotGroupedIfTheirOrdersDiffer) {
    const plan::Plan plan = make_plan_with_turns("2");
    const std::vector<schedule::TeamClocks> clocks(4, two_clocks);

    const std::vector<policy::ClockedTeam> teams = list_clocked_teams(plan, clocks);

    ASSERT_EQ(teams[0].passes.size(), teams[2].passes.size());
    EXPECT_EQ(list_groups(plan, clocks), (std::vector<std::size_t>{0, 1, 2, 3}));
}

TEST(ClockedTeams, HaveTheHighestClockBeforeTheFirstClock) {
    plan::Plan plan = make_plan_with_turns("1");
    std::vector<policy::ClockedTeam> teams =
        list_clocked_teams(plan, std::vector<schedule::TeamClocks>(4, two_clocks));
    EXPECT_EQ(teams[0].mhz, std::vector<int>(8, 900));

    teams[0].mhz.back() = 600;
    set_team_clocks(teams, plan);

    EXPECT_EQ(list_clocked_teams(plan, std::vector<schedule::TeamClocks>(4, two_clocks))[0].mhz, teams[0].mhz);
}

}  // namespace
}  // namespace trireme::setup
