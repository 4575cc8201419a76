#include <gtest/gtest.h>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "trireme/plan/plan.hpp"
#include "unit/plan/small_layouts.hpp"

namespace trireme::plan {
namespace {

PlanWish wish_of(const layout::Layout& layout, const std::string& csv, int microbatches = 1) {
    return {.layout = layout,
            .schedule = "my.csv",
            .file_programs = programs_in(csv),
            .microbatches = microbatches};
}

layout::Layout two_stages() { return uneven_layout({1, 1}); }

TEST(ProgramsFromFile, GetMessagesIfOnlyComputeIsGiven) {
    const Plan plan = make_plan(wish_of(two_stages(), "0F0,0B0\n1F0,1B0\n"));

    EXPECT_EQ(to_csv(plan.training.programs),
              "0RECV_B0,0F0,0SEND_F0,0B0,REDUCE0,STEP0\n1RECV_F0,1F0,1B0,1SEND_B0,REDUCE1,STEP1\n");
    EXPECT_EQ(to_csv(plan.evaluation.programs), "0F0,0SEND_F0\n1RECV_F0,1F0\n");
    EXPECT_EQ(plan.schedule, "my.csv");
}

TEST(ProgramsFromFile, AreUnchangedIfTheyHaveMessages) {
    const std::string csv =
        "0F0,0SEND_F0,0RECV_B0,0B0,REDUCE0,STEP0\n1RECV_F0,1F0,1I0,1SEND_B0,1W0,REDUCE1,STEP1\n";

    EXPECT_EQ(to_csv(make_plan(wish_of(two_stages(), csv)).training.programs), csv);
}

TEST(ProgramsFromFile, AreReadBackFromAWrittenSchedule) {
    const layout::Layout layout = even_grid({.pipe = 2, .data = 2, .chunks = 2});
    const Plan plan = make_plan({.layout = layout, .schedule = "looped-bfs", .microbatches = 4});

    const Plan again = make_plan(wish_of(layout, to_csv(plan.training.programs), 4));

    EXPECT_EQ(again.training.programs, plan.training.programs);
    EXPECT_EQ(again.training.shape.slots, plan.training.shape.slots);
}

// Rank 0 holds stages 0 and 1, rank 1 stages 2 and 3. No schedule supports this layout.
TEST(ProgramsFromFile, SupportLayoutsThatNoScheduleSupports) {
    layout::Layout layout = uneven_layout({1, 1, 1, 1});
    layout.stages[1].replicas[0].ranks = {0};
    layout.stages[2].replicas[0].ranks = {1};
    layout.stages[3].replicas[0].ranks = {1};

    const Plan plan = make_plan(wish_of(layout, "0F0,1F0,1B0,0B0\n2F0,3F0,3B0,2B0\n"));

    for (const schedule::Schedule& each : schedule::list_schedules()) {
        const std::string schedule = each.name;
        EXPECT_NE(refusal_of_plan({.layout = layout, .schedule = schedule}), "(no error)") << schedule;
    }
    EXPECT_TRUE(validation::says(refusal_of_plan({.layout = layout}), "puts several stages on a rank"));
    EXPECT_EQ(to_csv(plan.evaluation.programs), "0F0,1F0,1SEND_F0\n2RECV_F0,2F0,3F0\n");
}

TEST(ProgramsFromFile, MayBeGivenPerRank) {
    const layout::Layout layout = even_grid({.pipe = 2, .tensor = 2});
    const Plan of_teams = make_plan(wish_of(layout, "0F0,0B0\n1F0,1B0\n"));

    const Plan of_ranks = make_plan(wish_of(layout, "0F0,0B0\n0F0,0B0\n1F0,1B0\n1F0,1B0\n"));

    EXPECT_EQ(of_ranks.training.programs, of_teams.training.programs);
    EXPECT_EQ(refusal_of_plan(wish_of(layout, "0F0,0B0\n0F0,0B0\n1F0,1B0\n1F0,1I0,1W0\n")),
              "my.csv gives rank 2 and rank 3 different programs, but they hold a replica together; give both "
              "ranks the same program");
}

// Ranks 0 and 1 hold stage 0, ranks 2 and 3 stage 1. Teams are numbered row by row, on ranks 0, 2, 1, 3.
TEST(ProgramsFromFile, AreAssignedToRanksOrTeamsByTheirStages) {
    const layout::Layout layout = even_grid({.pipe = 2, .data = 2});

    const Plan by_rank = make_plan(wish_of(layout, "0F0,0B0\n0F1,0B1\n1F0,1B0\n1F1,1B1\n"));
    const Plan by_team = make_plan(wish_of(layout, "0F0,0B0\n1F0,1B0\n0F1,0B1\n1F1,1B1\n"));

    EXPECT_EQ(by_rank.training.programs, by_team.training.programs);
}

TEST(ProgramsFromFile, SkipIdleRanks) {
    layout::Layout layout = even_grid({.pipe = 2});
    layout.stages[1].replicas[0].ranks = {2};
    layout.idle = {1};

    EXPECT_EQ(refusal_of_plan(wish_of(layout, "0F0,0B0\n1F0,1B0\n")), "(no error)");
}

TEST(ProgramsFromFile, MustMatchTheNumberOfTeamsOrRanks) {
    EXPECT_EQ(refusal_of_plan(wish_of(two_stages(), "0F0,0B0\n")),
              "my.csv holds 1 program, but the layout has 2 teams; write one line for each team");
    EXPECT_EQ(
        refusal_of_plan(wish_of(even_grid({.pipe = 2, .tensor = 2}), "0F0\n0F0\n1F0\n")),
        "my.csv holds 3 programs, but the layout has 2 teams on 4 ranks; write one line for each team, or "
        "for each rank");
}

TEST(ProgramsFromFile, AreRejectedWithTheMessageOfTheChecker) {
    EXPECT_EQ(refusal_of_plan(wish_of(two_stages(), "0F0,0B0\n1B0,1F0\n")),
              "my.csv: the line of team 1 has 1B0 in cell 1, before 1F0 in cell 2; put the forward pass first");
    EXPECT_TRUE(
        validation::says(refusal_of_plan(wish_of(two_stages(), "0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n", 2)),
                         "my.csv cannot be run: team 0 is stuck at 0B0, which waits for"));
    EXPECT_EQ(refusal_of_plan(wish_of(two_stages(), "0F0,0B0\n1F0\n")),
              "my.csv: the line of team 1 has no 1B0 among its 1 cell; add 1B0, or 1I0 and 1W0");
    EXPECT_EQ(refusal_of_plan(wish_of(two_stages(), "0F0,0B0,0B1\n1F0,1F1,1B0,1B1\n", 2)),
              "my.csv: the line of team 0 has no 0F1 among its 3 cells; add 0F1");
    EXPECT_EQ(refusal_of_plan(wish_of(two_stages(), "0F0,0B0\n1F0,1I0\n")),
              "my.csv: the line of team 1 has no 1W0 among its 2 cells; add 1W0");
    EXPECT_TRUE(
        validation::says(refusal_of_plan(wish_of(two_stages(), "0F0,0B0,9F0\n1F0,1B0\n")), "names stage 9"));
}

// PipeDream for two teams, with one micro-batch per step.
constexpr const char* pipedream_of_two_teams =
    "0F0,BODY,0F1,0B0@1,REDUCE0,STEP0\n"
    "BODY,1F0,1B0,REDUCE1,STEP1\n";

TEST(ProgramsFromFile, MayKeepWorkInFlightAndUpdateStagesSeparately) {
    const Plan plan = make_plan(wish_of(two_stages(), pipedream_of_two_teams));

    EXPECT_TRUE(plan.training.shape.updates_stages_independently);
    EXPECT_EQ(plan.training.look_ahead, 1);
    EXPECT_EQ(to_csv(plan.training.phases()),
              "0RECV_B0,0F0,0SEND_F0,BODY,0F1,0SEND_F1,0B0@1,0RECV_B1,REDUCE0,STEP0\n"
              "1RECV_F0,BODY,1F0,1RECV_F1,1B0,1SEND_B0,REDUCE1,STEP1\n");
    EXPECT_EQ(to_csv(plan.evaluation.programs), "0F0,0SEND_F0\n1RECV_F0,1F0\n");
    EXPECT_EQ(plan.training.proof.weight_versions, (std::vector<std::vector<int>>{{2, 0}, {0, 1}}));
    EXPECT_EQ(plan.training.proof.peak_activations, (std::vector<int>{2, 1}));
}

TEST(ProgramsFromFile, MayKeepWorkInFlightAndUpdateStagesTogether) {
    const Plan plan = make_plan(wish_of(two_stages(),
                                        "0F0,0F1,0B0,BODY,0F2,0B1@1,REDUCE0,0F3,0B2,STEP0\n"
                                        "1F0,1B0,1F1,1B1,REDUCE1,BODY,1F2,1B2,1F3,1B3,REDUCE1,STEP1\n",
                                        2));
    const Plan ours = make_plan({.layout = two_stages(), .schedule = "pipedream-2bw", .microbatches = 2});

    EXPECT_FALSE(plan.training.shape.updates_stages_independently);
    EXPECT_EQ(plan.training.proof.weight_versions, (std::vector<std::vector<int>>{{2, 0}, {0, 1}}));
    EXPECT_EQ(to_csv(plan.training.phases()), to_csv(ours.training.phases()));
}

TEST(ProgramsFromFile, AreReadBackFromSchedulesWithWorkInFlight) {
    for (const char* schedule : {"pipedream", "pipedream-vertical", "pipedream-2bw"}) {
        for (const layout::Layout& layout :
             {uneven_layout({1, 1, 1}), uneven_layout({2, 1}), uneven_layout({1, 3}),
              even_grid({.pipe = 3, .data = 2}), even_grid({.pipe = 2, .tensor = 2})}) {
            const Plan plan = make_plan({.layout = layout, .schedule = schedule, .microbatches = 6});

            const Plan again = make_plan(wish_of(layout, to_csv(plan.training.phases()), 6));

            EXPECT_EQ(again.training.prologue, plan.training.prologue);
            EXPECT_EQ(again.training.programs, plan.training.programs);
            EXPECT_EQ(again.training.shape.slots, plan.training.shape.slots);
            EXPECT_EQ(again.training.shape.updates_stages_independently,
                      plan.training.shape.updates_stages_independently)
                << schedule;
            EXPECT_EQ(again.training.proof.weight_versions, plan.training.proof.weight_versions);
            EXPECT_EQ(again.evaluation.programs, plan.evaluation.programs);
        }
    }
}

TEST(ProgramsFromFile, AreReadBackFromSchedulesThatValidate) {
    const layout::Layout v = even_grid({.pipe = 3, .chunks = 2, .placement = layout::ChunkPlacement::v_shaped});
    for (const auto& [schedule, layout] : {std::pair{"zb-h1", even_grid({.pipe = 3, .data = 2})},
                                           {"zb-h2", even_grid({.pipe = 4})},
                                           {"zb-v", v}}) {
        const Plan plan = make_plan({.layout = layout, .schedule = schedule, .microbatches = 6});

        const Plan again = make_plan(wish_of(layout, to_csv(plan.training.phases()), 6));

        EXPECT_TRUE(again.training.shape.has_speculative_updates) << schedule;
        EXPECT_EQ(again.training.look_ahead, 1) << schedule;
        EXPECT_EQ(again.training.prologue, plan.training.prologue);
        EXPECT_EQ(again.training.programs, plan.training.programs);
        EXPECT_EQ(again.training.shape.slots, plan.training.shape.slots);
    }
}

// Messages are added to the programs. Two teams of 1F1B run ahead of the validation.
TEST(ProgramsFromFile, MayValidateTheirUpdates) {
    const Plan plan = make_plan(wish_of(two_stages(),
                                        "0F0,BODY,0F1,0B0,0B1,REDUCE0,STEP0,0F2,VALIDATE0\n"
                                        "1F0,1B0,1F1,1B1,REDUCE1,STEP1,VALIDATE1\n",
                                        2));

    EXPECT_TRUE(plan.training.shape.has_speculative_updates);
    EXPECT_FALSE(plan.training.shape.updates_stages_independently);
    EXPECT_FALSE(plan.evaluation.shape.has_speculative_updates);
    EXPECT_EQ(to_csv(plan.training.phases()),
              "0F0,BODY,0SEND_F0,0RECV_B0,0F1,0SEND_F1,0B0,0RECV_B1,0B1,REDUCE0,STEP0,0F2,VALIDATE0\n"
              "1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1,REDUCE1,STEP1,VALIDATE1\n");
    EXPECT_EQ(to_csv(plan.evaluation.programs), "0F0,0SEND_F0,0F1,0SEND_F1\n1RECV_F0,1F0,1RECV_F1,1F1\n");
}

TEST(ProgramsFromFile, MustValidateAllUpdatesOrNone) {
    EXPECT_EQ(
        refusal_of_plan(wish_of(two_stages(),
                                "0F0,BODY,0B0,REDUCE0,STEP0,0F1,VALIDATE0\n"
                                "1F0,1B0,REDUCE1,STEP1\n")),
        "my.csv has VALIDATE0, but no VALIDATE1 after STEP1 in the same line; validate all updates, or none");
    EXPECT_EQ(
        refusal_of_plan(wish_of(two_stages(),
                                "0F0,BODY,0B0,REDUCE0,STEP0,0F1,VALIDATE0\n"
                                "1F0,1B0,VALIDATE1,REDUCE1,STEP1\n")),
        "my.csv cannot be run: VALIDATE1, the 5th instruction of team 1, needs STEP1 before it, but STEP1 is "
        "the 7th instruction");
}

TEST(ProgramsFromFile, AreAssignedByTheirStagesWithWorkInFlight) {
    const layout::Layout layout = even_grid({.pipe = 2, .data = 2});
    const std::string first = "0F0,BODY,0F2,0B0@1,REDUCE0,STEP0\n";
    const std::string second = "0F1,BODY,0F3,0B1@1,REDUCE0,STEP0\n";
    const std::string first_last = "1F0,1B0,REDUCE1,BODY,1F2,1B2,REDUCE1,STEP1\n";
    const std::string second_last = "1F1,1B1,REDUCE1,BODY,1F3,1B3,REDUCE1,STEP1\n";

    const Plan by_rank = make_plan(wish_of(layout, first + second + first_last + second_last));
    const Plan by_team = make_plan(wish_of(layout, first + first_last + second + second_last));

    EXPECT_EQ(by_rank.training.programs, by_team.training.programs);
    EXPECT_EQ(by_rank.training.prologue, by_team.training.prologue);
}

TEST(ProgramsFromFile, AreRejectedByTheCheckerWithWorkInFlight) {
    const auto refused = [](const std::string& at_0, const std::string& at_1) {
        return refusal_of_plan(wish_of(two_stages(), at_0 + "\n" + at_1 + "\n"));
    };
    const std::string second = "1F0,1B0,REDUCE1,STEP1";

    EXPECT_EQ(refused("0F0,BODY,0F1,0B0,REDUCE0,STEP0", second),
              "my.csv cannot be run: 0B1, the 14th instruction of team 0, uses the weights of stage 0 after 1 "
              "update, but 0F1 uses them after 0 updates; both passes must use the same weights");
    EXPECT_TRUE(validation::says(refused("0F0,BODY,0F1,0B0@1,REDUCE0", second), "has STEP0 for only "));
    EXPECT_TRUE(validation::says(refused("0F0,BODY,0F1,0B0@1", "1F0,1B0"), "has REDUCE0 for only "));
    EXPECT_TRUE(validation::says(refused("0F0,BODY,0F1,0B0@1,REDUCE0,STEP0,STEP0", second),
                                 "STEP0, the 12th instruction of team 0, needs REDUCE0 before it"));
    EXPECT_TRUE(validation::says(refused("0F0,BODY,0F2,0B0@1,REDUCE0,STEP0", second), "needs 0F1 before it"));
    EXPECT_EQ(refused("0F0,0B0,REDUCE0,STEP0,STEP0", second),
              "my.csv cannot be run: STEP0, the 7th instruction of team 0, repeats STEP0, its 6th instruction");
    EXPECT_TRUE(validation::says(refused("0F0,BODY,0F1,0B0@1,REDUCE0,STEP0", "1B0,1F0,REDUCE1,STEP1"),
                                 "the line of team 1 has 1B0 in cell 1, before 1F0 in cell 2"));
}

// A proof over a single step would not find the errors of the last two programs.
TEST(ProgramsFromFile, AreProvedForAnyNumberOfStepsWithOldWeights) {
    const Plan plan = make_plan(wish_of(two_stages(), "0F0@2,0B0@2\n1F0@2,1B0@2\n"));

    EXPECT_EQ(plan.training.proof.weight_versions, (std::vector<std::vector<int>>{{3, 0}, {0, 3}}));
    EXPECT_TRUE(
        validation::says(refusal_of_plan(wish_of(two_stages(), "0F0@1,0B0\n1F0,1B0\n")),
                         "uses the weights of stage 0 after 1 update, but 0F1 uses them after 0 updates"));
    EXPECT_TRUE(validation::says(refusal_of_plan(wish_of(two_stages(), "0F0@1,0B0@1\n1F0,1B0\n")),
                                 "uses weights after 1 update, but 0F1 uses weights after 0 updates"));
}

TEST(ProgramsFromFile, AreRejectedWithMoreMicrobatchesThanAStepHas) {
    EXPECT_EQ(refusal_of_plan(wish_of(two_stages(), "0F0,0B0,0F1,0B1\n1F0,1B0,1F1,1B1\n")),
              "my.csv cannot be run: 0F1, the 5th instruction of team 0, names micro-batch 1, but the last "
              "micro-batch is 0");
}

TEST(ProgramsFromFile, AreRejectedIfTooManyStepsAheadOrBack) {
    EXPECT_EQ(refusal_of_plan(wish_of(two_stages(), "0F0,BODY,0F9999999,0B0,REDUCE0,STEP0\n1F0,1B0\n", 2)),
              "0F9999999 of my.csv is 4999999 steps ahead, because a step has 2 micro-batches; at most 100 are "
              "allowed");
    EXPECT_EQ(refusal_of_plan(wish_of(two_stages(), "0F0@101,0B0@101\n1F0,1B0\n")),
              "0F0@101 of my.csv uses the weights of 101 updates ago; at most 100 are allowed");
}

TEST(ProgramsFromFile, AreRejectedIfWorkSeparatesTheUpdatesOfATeam) {
    const std::string csv = "0F0,BODY,1F0,1B0,0B0,REDUCE1,REDUCE0,STEP1,0F1@1,STEP0\n";

    EXPECT_EQ(refusal_of_plan(wish_of(even_grid({.pipe = 1, .chunks = 2}), csv)),
              "my.csv has 0F1@1 between STEP1 and STEP0; put all STEPs of a step next to each other");
}

TEST(ProgramsFromFile, AreRejectedIfTheirStepsAreNotEqual) {
    EXPECT_EQ(
        refusal_of_plan(
            wish_of(two_stages(),
                    "0F0,BODY,0F1,0B0@1,REDUCE0,STEP0\n1F0,1B0,REDUCE1,BODY,STEP1,1F1@1,1B1@1,REDUCE1\n")),
        "my.csv cannot be run: the steps differ once sends and receives are inserted; end each body with its "
        "STEPs or VALIDATEs, and execute the micro-batches of the first step in the same order as those of "
        "later steps");
}

}  // namespace
}  // namespace trireme::plan
