#include <gtest/gtest.h>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "trireme/plan/plan.hpp"
#include "unit/plan/small_layouts.hpp"

namespace trireme {
namespace {

PlanWish wish_of(const Layout& layout, const std::string& csv, int micro_batches = 1) {
    return {.layout = layout,
            .schedule = "my.csv",
            .own_programs = programs_in(csv),
            .micro_batches = micro_batches};
}

std::string refusal(const PlanWish& wish) {
    return validation::message_of<ConfigError>([&] { make_plan(wish); });
}

Layout two_stages() { return uneven_layout({1, 1}); }

TEST(OwnPrograms, OfComputeAloneGetTheirMessages) {
    const Plan plan = make_plan(wish_of(two_stages(), "0F0,0B0\n1F0,1B0\n"));

    EXPECT_EQ(csv_of(plan.training.programs),
              "0RECV_B0,0F0,0SEND_F0,0B0,REDUCE0,STEP0\n1RECV_F0,1F0,1B0,1SEND_B0,REDUCE1,STEP1\n");
    EXPECT_EQ(csv_of(plan.evaluation.programs), "0F0,0SEND_F0\n1RECV_F0,1F0\n");
    EXPECT_EQ(plan.schedule, "my.csv");
}

TEST(OwnPrograms, WithMessagesStayAsTheyAre) {
    const std::string csv =
        "0F0,0SEND_F0,0RECV_B0,0B0,REDUCE0,STEP0\n1RECV_F0,1F0,1I0,1SEND_B0,1W0,REDUCE1,STEP1\n";

    EXPECT_EQ(csv_of(make_plan(wish_of(two_stages(), csv)).training.programs), csv);
}

TEST(OwnPrograms, OfEveryScheduleAreReadBack) {
    const Layout layout = even_grid({.pipe = 2, .data = 2, .chunks = 2});
    const Plan plan = make_plan({.layout = layout, .schedule = "looped-bfs", .micro_batches = 4});

    const Plan again = make_plan(wish_of(layout, csv_of(plan.training.programs), 4));

    EXPECT_EQ(again.training.programs, plan.training.programs);
    EXPECT_EQ(again.training.shape.slots, plan.training.shape.slots);
}

// Stages 0 and 3 on one rank, 1 and 2 on the other: none of the schedules is made for it.
TEST(OwnPrograms, RunLayoutsThatNoScheduleIsMadeFor) {
    Layout layout = uneven_layout({1, 1, 1, 1});
    layout.stages[2].replicas[0].ranks = {1};
    layout.stages[3].replicas[0].ranks = {0};

    const Plan plan = make_plan(wish_of(layout, "0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n"));

    EXPECT_TRUE(validation::says(refusal({.layout = layout}), "puts several on one"));
    EXPECT_EQ(csv_of(plan.evaluation.programs), "3RECV_F0,0F0,0SEND_F0,3F0\n1RECV_F0,1F0,2F0,2SEND_F0\n");
}

TEST(OwnPrograms, MayBeGivenForEachRank) {
    const Layout layout = even_grid({.pipe = 2, .tensor = 2});
    const Plan of_teams = make_plan(wish_of(layout, "0F0,0B0\n1F0,1B0\n"));

    const Plan of_ranks = make_plan(wish_of(layout, "0F0,0B0\n0F0,0B0\n1F0,1B0\n1F0,1B0\n"));

    EXPECT_EQ(of_ranks.training.programs, of_teams.training.programs);
    EXPECT_EQ(refusal(wish_of(layout, "0F0,0B0\n0F0,0B0\n1F0,1B0\n1F0,1I0,1W0\n")),
              "my.csv gives rank 2 and rank 3 unlike programs, but they hold a replica together; give both the "
              "same");
}

// Ranks 0, 1 hold stage 0 and ranks 2, 3 stage 1; teams are numbered row by row: ranks 0, 2, 1, 3.
TEST(OwnPrograms, AreOfRanksOrTeamsAsTheirStagesSay) {
    const Layout layout = even_grid({.pipe = 2, .data = 2});

    const Plan by_rank = make_plan(wish_of(layout, "0F0,0B0\n0F1,0B1\n1F0,1B0\n1F1,1B1\n"));
    const Plan by_team = make_plan(wish_of(layout, "0F0,0B0\n1F0,1B0\n0F1,0B1\n1F1,1B1\n"));

    EXPECT_EQ(by_rank.training.programs, by_team.training.programs);
}

TEST(OwnPrograms, SkipIdleRanks) {
    Layout layout = even_grid({.pipe = 2});
    layout.stages[1].replicas[0].ranks = {2};
    layout.idle = {1};

    EXPECT_EQ(refusal(wish_of(layout, "0F0,0B0\n1F0,1B0\n")), "(no error)");
}

TEST(OwnPrograms, AreAsManyAsTeamsOrRanks) {
    EXPECT_EQ(refusal(wish_of(two_stages(), "0F0,0B0\n")),
              "my.csv holds 1 program, but the layout has 2 teams; write one line for each team");
    EXPECT_EQ(
        refusal(wish_of(even_grid({.pipe = 2, .tensor = 2}), "0F0\n0F0\n1F0\n")),
        "my.csv holds 3 programs, but the layout has 2 teams on 4 ranks; write one line for each team, or "
        "for each rank");
}

TEST(OwnPrograms, AreRefusedInTheCheckersWords) {
    EXPECT_EQ(refusal(wish_of(two_stages(), "0F0,0B0\n1B0,1F0\n")),
              "my.csv cannot be run: 1B0, the 2nd instruction of team 1, needs 1F0 before it; 1F0 is the 5th");
    EXPECT_TRUE(validation::says(refusal(wish_of(two_stages(), "0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n", 2)),
                                 "my.csv cannot be run: team 0 is stuck at 0B0, its "));
    EXPECT_TRUE(validation::says(refusal(wish_of(two_stages(), "0F0,0B0\n1F0\n")),
                                 "0B0, the 3rd instruction of team 0, needs 0RECV_B0 before it"));
    EXPECT_TRUE(validation::says(refusal(wish_of(two_stages(), "0F0,0B0,9F0\n1F0,1B0\n")), "names stage 9"));
}

}  // namespace
}  // namespace trireme
