#include "trireme/schedule/check.hpp"

#include <gtest/gtest.h>

#include "trireme/base/error.hpp"
#include "trireme/schedule/lower.hpp"
#include "unit/schedule/programs_as_text.hpp"

namespace trireme::schedule {
namespace {

using Lines = std::initializer_list<const char*>;

// Returns "proved", or the position of the fault (team:position) and its text.
std::string verdict(const std::vector<Program>& programs, const PipelineShape& shape) {
    const Verdict result = verify_programs(programs, shape);
    if (result.is_proved()) return "proved";
    return cat(result.fault->team, ":", result.fault->position, " ", result.fault->what);
}

std::string verdict(Lines lines, const PipelineShape& shape) { return verdict(programs_of(lines), shape); }

// Two teams with one stage each and one micro-batch; the functions below replace one of the two programs.
constexpr const char* first_team = "0F0 0SEND_F0 0RECV_B0 0B0 REDUCE0 STEP0";
constexpr const char* last_team = "1RECV_F0 1F0 1B0 1SEND_B0 REDUCE1 STEP1";

std::string check_with_first(const char* program) {
    return verdict({program, last_team}, make_grid_shape(2, 1, 1, 1));
}
std::string check_with_last(const char* program) {
    return verdict({first_team, program}, make_grid_shape(2, 1, 1, 1));
}

// Checks a program of one team with one stage.
std::string check_one_team(const char* program, int microbatches = 1) {
    return verdict({program}, make_grid_shape(1, 1, 1, microbatches));
}

TEST(Check, ProvesTwoStages) {
    EXPECT_EQ(check_with_first(first_team), "proved");
    EXPECT_EQ(check_with_first("0RECV_B0 0F0 0SEND_F0 0B0 REDUCE0 STEP0"), "proved");
    EXPECT_EQ(check_with_last("1RECV_F0 1F0 1I0 1SEND_B0 1W0 REDUCE1 STEP1"), "proved");
}

TEST(Check, ProvesForwardOnlyPrograms) {
    const PipelineShape shape = make_grid_shape(2, 1, 1, 2, false);

    EXPECT_EQ(verdict({"0F0 0SEND_F0 0F1 0SEND_F1", "1RECV_F0 1F0 1RECV_F1 1F1"}, shape), "proved");
}

TEST(Check, RequiresEmptyProgramsForTeamsWithoutStages) {
    PipelineShape shape = make_grid_shape(1, 1, 1, 1);
    shape.teams = 2;

    EXPECT_EQ(verdict({"0F0 0B0 REDUCE0 STEP0", ""}, shape), "proved");
    EXPECT_EQ(verdict({"0F0 0B0 REDUCE0 STEP0", "STEP0"}, shape),
              "1:0 STEP0, the 1st instruction of team 1, is for teams that hold stage 0, but team 1 does not");
}

TEST(Check, RequiresReduceAndStepOfHoldersWithoutMicrobatches) {
    const PipelineShape shape = make_uneven_shape({2}, 1);

    EXPECT_EQ(verdict({"0F0 0B0 REDUCE0 STEP0", "REDUCE0 STEP0"}, shape), "proved");
    EXPECT_EQ(
        verdict({"0F0 0B0 REDUCE0 STEP0", "STEP0"}, shape),
        "1:0 STEP0, the 1st instruction of team 1, needs REDUCE0 before it, but its program has no REDUCE0");
    EXPECT_EQ(verdict({"0F0 0B0 REDUCE0 STEP0", ""}, shape),
              "1:0 team 1 holds stage 0, but its program of 0 instructions has no REDUCE0");
    EXPECT_EQ(verdict({"0F0 0B0 REDUCE0 STEP0", "REDUCE0"}, shape),
              "1:1 team 1 holds stage 0, but its program of 1 instruction has no STEP0");
}

TEST(Check, RequiresOneProgramPerTeam) {
    EXPECT_EQ(verdict({first_team}, make_grid_shape(2, 1, 1, 1)),
              "0:0 each of the 2 teams needs a program, but the number of programs is 1");
    EXPECT_EQ(verdict({first_team, last_team, ""}, make_grid_shape(2, 1, 1, 1)),
              "0:0 each of the 2 teams needs a program, but the number of programs is 3");
}

TEST(Check, RejectsUnknownStagesAndMicrobatches) {
    EXPECT_EQ(check_one_team("0F0 4B0"),
              "0:1 4B0, the 2nd instruction of team 0, names stage 4, but the last stage is 0");
    EXPECT_EQ(check_one_team("0F0 0B0 0F7"),
              "0:2 0F7, the 3rd instruction of team 0, names micro-batch 7, but the last micro-batch is 0");
    EXPECT_EQ(verdict({{{Op::forward, 0, -1}}}, make_grid_shape(1, 1, 1, 1)),
              "0:0 0F-1, the 1st instruction of team 0, names micro-batch -1, but the last micro-batch is 0");
    EXPECT_EQ(verdict({{{Op::reduce, 0, 3}}}, make_grid_shape(1, 1, 1, 4)),
              "0:0 REDUCE0, the 1st instruction of team 0, names micro-batch 3, but applies to all "
              "micro-batches");
}

TEST(Check, RejectsTrainingInstructionsInForwardOnlyPrograms) {
    const PipelineShape shape = make_grid_shape(1, 1, 1, 1, false);

    for (const char* added : {"0B0", "0I0", "0W0", "0SEND_B0", "0RECV_B0", "REDUCE0", "STEP0"}) {
        EXPECT_EQ(verdict({cat("0F0 ", added).c_str()}, shape),
                  cat("0:1 ", added,
                      ", the 2nd instruction of team 0, belongs to training, but these programs are "
                      "forward-only"));
    }
}

TEST(Check, RejectsInstructionsOfOtherTeams) {
    EXPECT_EQ(check_with_first("0F0 1F0"),
              "0:1 1F0, the 2nd instruction of team 0, is for team 1, which executes micro-batch 0 in stage 1");
    EXPECT_EQ(
        check_with_first("0F0 1SEND_B0"),
        "0:1 1SEND_B0, the 2nd instruction of team 0, is for team 1, which executes micro-batch 0 in stage 1");
    EXPECT_EQ(
        check_with_first("REDUCE1"),
        "0:0 REDUCE1, the 1st instruction of team 0, is for teams that hold stage 1, but team 0 does not");
    EXPECT_EQ(verdict({"0F1", ""}, make_uneven_shape({2}, 2)),
              "0:0 0F1, the 1st instruction of team 0, is for team 1, which executes micro-batch 1 in stage 0");
}

TEST(Check, RejectsMessagesBeyondTheFirstOrLastStage) {
    EXPECT_EQ(check_with_first("0F0 0SEND_F0 0RECV_B0 0B0 0SEND_B0"),
              "0:4 0SEND_B0, the 5th instruction of team 0, has no peer, because stage 0 is the first stage");
    EXPECT_EQ(check_with_first("0RECV_F0"),
              "0:0 0RECV_F0, the 1st instruction of team 0, has no peer, because stage 0 is the first stage");
    EXPECT_EQ(check_with_last("1RECV_F0 1F0 1SEND_F0"),
              "1:2 1SEND_F0, the 3rd instruction of team 1, has no peer, because stage 1 is the last stage");
    EXPECT_EQ(check_with_last("1RECV_F0 1F0 1RECV_B0"),
              "1:2 1RECV_B0, the 3rd instruction of team 1, has no peer, because stage 1 is the last stage");
}

TEST(Check, RejectsMessagesFromATeamToItself) {
    EXPECT_EQ(verdict({"0F0 0SEND_F0"}, make_grid_shape(1, 1, 2, 1)),
              "0:1 0SEND_F0, the 2nd instruction of team 0, is not needed, because team 0 also executes "
              "micro-batch 0 in stage 1");
    EXPECT_EQ(verdict({"0RECV_B0"}, make_grid_shape(1, 1, 2, 1)),
              "0:0 0RECV_B0, the 1st instruction of team 0, is not needed, because team 0 also executes "
              "micro-batch 0 in stage 1");
}

TEST(Check, RejectsRepeatedInstructions) {
    EXPECT_EQ(check_one_team("0F0 0F0"),
              "0:1 0F0, the 2nd instruction of team 0, repeats 0F0, its 1st instruction");
    EXPECT_EQ(check_one_team("0F0 0B0 0B0"),
              "0:2 0B0, the 3rd instruction of team 0, repeats 0B0, its 2nd instruction");
    EXPECT_EQ(check_one_team("0F0 0I0 0B0"),
              "0:2 0B0, the 3rd instruction of team 0, repeats 0I0, its 2nd instruction");
    EXPECT_EQ(check_one_team("0F0 0B0 0W0"),
              "0:2 0W0, the 3rd instruction of team 0, repeats 0B0, its 2nd instruction");
    EXPECT_EQ(check_one_team("0F0 0B0 REDUCE0 REDUCE0"),
              "0:3 REDUCE0, the 4th instruction of team 0, repeats REDUCE0, its 3rd instruction");
    EXPECT_EQ(check_one_team("0F0 0B0 REDUCE0 STEP0 STEP0"),
              "0:4 STEP0, the 5th instruction of team 0, repeats STEP0, its 4th instruction");
    EXPECT_EQ(check_with_first("0F0 0SEND_F0 0SEND_F0"),
              "0:2 0SEND_F0, the 3rd instruction of team 0, repeats 0SEND_F0, its 2nd instruction");
}

TEST(Check, RejectsReceivesThatArePostedTwice) {
    EXPECT_EQ(check_with_last("1RECV_F0 1F0 1RECV_F0"),
              "1:2 1RECV_F0, the 3rd instruction of team 1, repeats 1RECV_F0, its 1st instruction");
}

TEST(Check, RejectsComputeBeforeItsInput) {
    EXPECT_EQ(check_one_team("0B0 0F0"),
              "0:0 0B0, the 1st instruction of team 0, needs 0F0 before it, but 0F0 is the 2nd instruction");
    EXPECT_EQ(check_one_team("0F0 0W0 0I0"),
              "0:1 0W0, the 2nd instruction of team 0, needs 0I0 before it, but 0I0 is the 3rd instruction");
    EXPECT_EQ(check_with_last("1F0 1RECV_F0"),
              "1:0 1F0, the 1st instruction of team 1, needs 1RECV_F0 before it, but 1RECV_F0 is the 2nd "
              "instruction");
    EXPECT_EQ(
        check_with_last("1F0 1B0"),
        "1:0 1F0, the 1st instruction of team 1, needs 1RECV_F0 before it, but its program has no 1RECV_F0");
    EXPECT_EQ(
        check_with_first("0F0 0SEND_F0 0B0"),
        "0:2 0B0, the 3rd instruction of team 0, needs 0RECV_B0 before it, but its program has no 0RECV_B0");
}

TEST(Check, RejectsSendsBeforeTheirResults) {
    EXPECT_EQ(
        check_with_first("0SEND_F0 0F0"),
        "0:0 0SEND_F0, the 1st instruction of team 0, needs 0F0 before it, but 0F0 is the 2nd instruction");
    EXPECT_EQ(check_with_last("1RECV_F0 1F0 1SEND_B0 1I0"),
              "1:2 1SEND_B0, the 3rd instruction of team 1, needs 1B0 or 1I0 before it, but 1I0 is the 4th "
              "instruction");
}

TEST(Check, ChecksDependenciesBetweenStagesOfOneTeam) {
    const PipelineShape shape = make_grid_shape(1, 1, 2, 1);

    EXPECT_EQ(verdict({"0F0 1F0 1B0 0B0 REDUCE1 REDUCE0 STEP0 STEP1"}, shape), "proved");
    EXPECT_EQ(verdict({"0F0 1F0 1I0 0I0 1W0 0W0 REDUCE1 REDUCE0 STEP0 STEP1"}, shape), "proved");
    EXPECT_EQ(verdict({"1F0 0F0"}, shape),
              "0:0 1F0, the 1st instruction of team 0, needs 0F0 before it, but 0F0 is the 2nd instruction");
    EXPECT_EQ(verdict({"0F0 0B0"}, shape),
              "0:1 0B0, the 2nd instruction of team 0, needs 1B0 or 1I0 before it, but its program has no 1B0 "
              "or 1I0");
}

TEST(Check, RejectsFreeingActivationsThatTheNextStageStillReads) {
    EXPECT_EQ(
        verdict({"0F0 1F0 1I0 0I0 0W0 1W0 REDUCE1 REDUCE0 STEP0 STEP1"}, make_grid_shape(1, 1, 2, 1)),
        "0:4 0W0, the 5th instruction of team 0, frees activations that 1W0 still has to read; put 1W0 before "
        "0W0");
    EXPECT_EQ(
        verdict({"0F0 1F0 1I0 0B0 1W0 REDUCE1 REDUCE0 STEP0 STEP1"}, make_grid_shape(1, 1, 2, 1)),
        "0:3 0B0, the 4th instruction of team 0, frees activations that 1W0 still has to read; put 1W0 before "
        "0B0");
}

TEST(Check, RejectsReducesAndStepsThatComeTooEarly) {
    EXPECT_EQ(check_one_team("0F0 0F1 0B0 REDUCE0 0B1", 2),
              "0:3 REDUCE0, the 4th instruction of team 0, needs 0B1 or 0W1 before it, but 0B1 is the 5th "
              "instruction");
    EXPECT_EQ(check_one_team("0F0 0I0 REDUCE0 0W0"),
              "0:2 REDUCE0, the 3rd instruction of team 0, needs 0B0 or 0W0 before it, but 0W0 is the 4th "
              "instruction");
    EXPECT_EQ(check_one_team("0F0 0B0 STEP0 REDUCE0"),
              "0:2 STEP0, the 3rd instruction of team 0, needs REDUCE0 before it, but REDUCE0 is the 4th "
              "instruction");
}

TEST(Check, ReportsMissingInstructions) {
    EXPECT_EQ(check_one_team("", 2),
              "0:0 team 0 executes micro-batch 0 in stage 0, but its program of 0 instructions has no 0F0");
    EXPECT_EQ(
        check_one_team("0F0 0B0 0F1", 2),
        "0:3 team 0 executes micro-batch 1 in stage 0, but its program of 3 instructions has no 0B1 or 0I1");
    EXPECT_EQ(check_one_team("0F0 0I0"),
              "0:2 team 0 executes 0I0, but its program of 2 instructions has no 0W0");
    EXPECT_EQ(check_one_team("0F0 0B0"),
              "0:2 team 0 holds stage 0, but its program of 2 instructions has no REDUCE0");
    EXPECT_EQ(check_one_team("0F0 0B0 REDUCE0"),
              "0:3 team 0 holds stage 0, but its program of 3 instructions has no STEP0");
}

TEST(Check, RejectsReceivedMessagesThatAreNeverRead) {
    EXPECT_EQ(check_with_last("1RECV_F0 REDUCE1"),
              "1:1 REDUCE1, the 2nd instruction of team 1, needs 1B0 or 1W0 before it, but its program has no "
              "1B0 or 1W0");
    EXPECT_EQ(
        check_with_last("1RECV_F0"),
        "1:0 1RECV_F0, the 1st instruction of team 1, receives an input that no instruction reads, because "
        "1F0 is missing");
    EXPECT_EQ(
        check_with_first("0F0 0SEND_F0 0RECV_B0"),
        "0:2 0RECV_B0, the 3rd instruction of team 0, receives an input that no instruction reads, because "
        "0B0 or 0I0 is missing");
}

TEST(Check, RejectsReceivesWithoutASend) {
    EXPECT_EQ(
        check_with_first("0F0 0RECV_B0 0B0 REDUCE0 STEP0"),
        "0:5 1RECV_F0, the 1st instruction of team 1, receives a message that is never sent: the program of "
        "team 0 has no 0SEND_F0");
    EXPECT_EQ(
        check_with_last("1RECV_F0 1F0 1B0 REDUCE1 STEP1"),
        "1:5 0RECV_B0, the 3rd instruction of team 0, receives a message that is never sent: the program of "
        "team 1 has no 1SEND_B0");
}

TEST(Check, NamesBothEndsOfCrossedMessages) {
    PipelineShape shape = make_grid_shape(2, 1, 1, 2, false);
    shape.slots = 2;

    EXPECT_EQ(
        verdict({"0F0 0F1 0SEND_F1 0SEND_F0", "1RECV_F0 1RECV_F1 1F0 1F1"}, shape),
        "1:0 messages cross: the 1st activation from team 0 to team 1 is sent by 0SEND_F1, the 3rd "
        "instruction of team 0, but is received by 1RECV_F0, the 1st instruction of team 1; send and receive "
        "in the same order");
}

TEST(Check, FindsCrossedGradients) {
    PipelineShape shape = make_grid_shape(2, 1, 1, 2);
    shape.slots = 2;

    EXPECT_EQ(
        verdict({"0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B1 0RECV_B0 0B0 0B1 REDUCE0 STEP0",
                 "1RECV_F0 1F0 1B0 1SEND_B0 1RECV_F1 1F1 1B1 1SEND_B1 REDUCE1 STEP1"},
                shape),
        "0:4 messages cross: the 1st gradient from team 1 to team 0 is sent by 1SEND_B0, the 4th instruction "
        "of team 1, but is received by 0RECV_B1, the 5th instruction of team 0; send and receive in the same "
        "order");
}

TEST(Check, DistinguishesStagesThatShareAChannel) {
    const PipelineShape shape = make_grid_shape(2, 1, 2, 1, false);

    EXPECT_EQ(verdict({"0F0 0SEND_F0 2RECV_F0 2F0 2SEND_F0", "1RECV_F0 1F0 1SEND_F0 3RECV_F0 3F0"}, shape),
              "proved");
    PipelineShape wider = shape;
    wider.slots = 2;
    EXPECT_EQ(
        verdict({"0F0 0SEND_F0 2RECV_F0 2F0 2SEND_F0", "3RECV_F0 1RECV_F0 1F0 1SEND_F0 3F0"}, wider),
        "1:0 messages cross: the 1st activation from team 0 to team 1 is sent by 0SEND_F0, the 2nd "
        "instruction of team 0, but is received by 3RECV_F0, the 1st instruction of team 1; send and receive "
        "in the same order");
}

TEST(Check, NamesWhereEveryTeamIsStuck) {
    // Team 0 computes its second result before it sends the first, but has one buffer. Team 1 waits for the
    // first.
    EXPECT_EQ(verdict({"0F0 0F1 0SEND_F0 0SEND_F1 0RECV_B0 0B0 0RECV_B1 0B1 REDUCE0 STEP0",
                       "1RECV_F0 1F0 1B0 1SEND_B0 1RECV_F1 1F1 1B1 1SEND_B1 REDUCE1 STEP1"},
                      make_grid_shape(2, 1, 1, 2)),
              "0:1 team 0 is stuck at 0F1, which waits for a free buffer for activations to "
              "team 1 (the channel has 1); team 1 is stuck at 1F0, which waits for 0SEND_F0 of team 0");
}

TEST(Check, OmitsFinishedTeamsFromADeadlockReport) {
    const PipelineShape shape = make_grid_shape(2, 1, 1, 2, false);

    EXPECT_EQ(verdict({"0F0 0SEND_F0 0F1 0SEND_F1", "1RECV_F0 1RECV_F1 1F0 1F1"}, shape),
              "1:1 team 1 is stuck at 1RECV_F1, which waits for a free buffer for activations "
              "from team 0 (the channel has 1)");
}

TEST(Check, ProvesProgramsThatNeedTwoSlots) {
    PipelineShape shape = make_grid_shape(2, 1, 1, 2, false);
    shape.slots = 2;

    EXPECT_EQ(verdict({"0F0 0F1 0SEND_F0 0SEND_F1", "1RECV_F0 1RECV_F1 1F0 1F1"}, shape), "proved");
}

TEST(Check, RejectsStepsBeforeAllStagesAreReduced) {
    EXPECT_EQ(verdict({"0F0 1F0 1B0 REDUCE1 STEP1 0B0 REDUCE0 STEP0"}, make_grid_shape(1, 1, 2, 1)),
              "0:4 team 0 is stuck at STEP1, which waits for the REDUCEs of all teams");
}

TEST(Check, RejectsDifferentReduceOrdersOfCommonStages) {
    const PipelineShape shape = make_grid_shape(1, 2, 2, 1);
    const char* const first = "0F0 1F0 1B0 0B0 REDUCE1 REDUCE0 STEP0 STEP1";

    EXPECT_EQ(verdict({first, "0F1 1F1 1B1 REDUCE1 0B1 REDUCE0 STEP1 STEP0"}, shape), "proved");
    EXPECT_EQ(
        verdict({first, "0F1 1F1 1B1 0B1 REDUCE0 REDUCE1 STEP0 STEP1"}, shape),
        "1:4 teams 0 and 1 hold stages 1 and 0 in common but reduce them in different orders: REDUCE1, the "
        "5th instruction of team 0, comes before REDUCE0, but REDUCE0, the 5th instruction of team 1, comes "
        "before REDUCE1");
}

TEST(Check, EnforcesTheActivationLimit) {
    PipelineShape shape = make_grid_shape(1, 1, 1, 3);
    const char* const program = "0F0 0F1 0B0 0F2 0I1 0B2 0W1 REDUCE0 STEP0";

    shape.max_activations = {2};
    EXPECT_EQ(verdict({program}, shape), "proved");
    shape.max_activations = {1};
    EXPECT_EQ(
        verdict({program}, shape),
        "0:1 0F1, the 2nd instruction of team 0, would raise the in-flight micro-batches of the team to 2, "
        "summed over its stages, but the team has memory for 1");
}

TEST(Check, CountsActivationsUntilTheWeightHalf) {
    PipelineShape shape = make_grid_shape(1, 1, 1, 2);
    shape.max_activations = {1};

    EXPECT_EQ(verdict({"0F0 0I0 0W0 0F1 0I1 0W1 REDUCE0 STEP0"}, shape), "proved");
    EXPECT_EQ(
        verdict({"0F0 0I0 0F1 0W0 0I1 0W1 REDUCE0 STEP0"}, shape),
        "0:2 0F1, the 3rd instruction of team 0, would raise the in-flight micro-batches of the team to 2, "
        "summed over its stages, but the team has memory for 1");
}

TEST(Check, WritesEnglishOrdinals) {
    PipelineShape shape = make_grid_shape(1, 1, 1, 24, false);
    Program program;
    for (int m = 0; m < 24; ++m) program.push_back({Op::forward, 0, m});
    const auto repeated_at = [&](std::size_t position) {
        Program damaged = program;
        damaged[position] = damaged[0];
        return verify_programs({damaged}, shape).fault->what;
    };

    EXPECT_EQ(repeated_at(10), "0F0, the 11th instruction of team 0, repeats 0F0, its 1st instruction");
    EXPECT_EQ(repeated_at(11), "0F0, the 12th instruction of team 0, repeats 0F0, its 1st instruction");
    EXPECT_EQ(repeated_at(20), "0F0, the 21st instruction of team 0, repeats 0F0, its 1st instruction");
    EXPECT_EQ(repeated_at(22), "0F0, the 23rd instruction of team 0, repeats 0F0, its 1st instruction");
}

}  // namespace
}  // namespace trireme::schedule
