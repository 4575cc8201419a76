#include "trireme/schedule/lower.hpp"

#include <gtest/gtest.h>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "trireme/schedule/check.hpp"
#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/schedule_text.hpp"

namespace trireme {
namespace {

using validation::message_of;
using validation::says;

std::vector<std::string> texts_of(const std::vector<Program>& programs) {
    std::vector<std::string> texts;
    for (const Program& program : programs) texts.push_back(text_of(program));
    return texts;
}

std::vector<std::string> lowered(ScheduleKind kind, const PipelineShape& shape) {
    return texts_of(lower(generate(kind, shape), shape));
}

PipelineShape with_slots(PipelineShape shape, int slots) {
    shape.slots = slots;
    return shape;
}

TEST(Lower, PutsSendsBehindResultsAndReceivesBehindTheReaderBefore) {
    const std::vector<std::string> programs = lowered(ScheduleKind::one_f_one_b, grid_shape(2, 1, 1, 3));

    EXPECT_EQ(programs[0],
              "0RECV_B0 0F0 0SEND_F0 0F1 0SEND_F1 0B0 0RECV_B1 0F2 0SEND_F2 0B1 0RECV_B2 0B2 REDUCE0 STEP0");
    EXPECT_EQ(programs[1],
              "1RECV_F0 1F0 1RECV_F1 1B0 1SEND_B0 1F1 1RECV_F2 1B1 1SEND_B1 1F2 1B2 1SEND_B2 REDUCE1 STEP1");
}

TEST(Lower, PostsAsManyReceivesAsThereAreSlots) {
    const std::vector<std::string> programs =
        lowered(ScheduleKind::gpipe, with_slots(grid_shape(2, 1, 1, 3, false), 2));

    EXPECT_EQ(programs[0], "0F0 0SEND_F0 0F1 0SEND_F1 0F2 0SEND_F2");
    EXPECT_EQ(programs[1], "1RECV_F0 1RECV_F1 1F0 1RECV_F2 1F1 1F2");
}

TEST(Lower, OrdersReceivesOfOnePlaceByWhenTheyAreNeeded) {
    // Team 2 hears from both replicas of the stage before it, and reads team 1's message first.
    PipelineShape shape = uneven_shape({2, 1}, 2, false);
    shape.executor[0] = {1, 0};

    const std::vector<std::string> programs = lowered(ScheduleKind::gpipe, shape);

    EXPECT_EQ(programs[2], "1RECV_F0 1RECV_F1 1F0 1F1");
}

TEST(Lower, KeepsTheOrderOfTheSendsOnAChannelWhateverIsReadFirst) {
    const PipelineShape shape = with_slots(grid_shape(2, 1, 1, 2, false), 2);
    const std::vector<Program> compute = programs_from_csv("0F0,0F1\n1F1,1F0\n", "mine");

    const std::vector<Program> programs = lower(compute, shape);

    EXPECT_EQ(text_of(programs[1]), "1RECV_F0 1RECV_F1 1F1 1F0");
    EXPECT_TRUE(check(programs, shape).is_proved());
}

TEST(Lower, SendsNothingBetweenStagesOfOneTeam) {
    const std::vector<std::string> programs = lowered(ScheduleKind::interleaved, grid_shape(1, 1, 2, 1));

    EXPECT_EQ(programs[0], "0F0 1F0 1B0 REDUCE1 0B0 REDUCE0 STEP0 STEP1");
}

TEST(Lower, SendsTheInputHalfAndReducesBehindTheWeightHalf) {
    const PipelineShape shape = grid_shape(2, 1, 1, 1);
    const std::vector<Program> compute = programs_from_csv("0F0,0I0,0W0\n1F0,1I0,1W0\n", "mine");

    const std::vector<Program> programs = lower(compute, shape);

    EXPECT_EQ(text_of(programs[0]), "0RECV_B0 0F0 0SEND_F0 0I0 0W0 REDUCE0 STEP0");
    EXPECT_EQ(text_of(programs[1]), "1RECV_F0 1F0 1I0 1SEND_B0 1W0 REDUCE1 STEP1");
    EXPECT_TRUE(check(programs, shape).is_proved());
}

TEST(Lower, TeamWithoutMicroBatchReducesAndSteps) {
    const std::vector<std::string> programs = lowered(ScheduleKind::gpipe, uneven_shape({3}, 2));

    EXPECT_EQ(programs[2], "REDUCE0 STEP0");
}

TEST(Lower, TeamsReduceTheirStagesInOneOrderWhateverTheyEndWith) {
    const PipelineShape shape{
        .teams = 2, .micro_batches = 2, .holders = {{0, 1}, {0, 1}}, .executor = {{0, 1}, {0, 1}}};
    const std::vector<Program> compute = programs_from_csv("0F0,1F0,1B0,0B0\n0F1,1F1,1I1,0B1,1W1\n", "mine");

    const std::vector<Program> programs = lower(compute, shape);

    EXPECT_EQ(text_of(programs[0]), "0F0 1F0 1B0 REDUCE1 0B0 REDUCE0 STEP0 STEP1");
    EXPECT_EQ(text_of(programs[1]), "0F1 1F1 1I1 0B1 1W1 REDUCE1 REDUCE0 STEP0 STEP1");
    EXPECT_TRUE(check(programs, shape).is_proved());
}

TEST(Lower, GivesBackProgramsWithMessagesWithWhatIsMissingOfReduceAndStep) {
    const PipelineShape shape = grid_shape(2, 1, 1, 1);
    const std::vector<Program> whole = lower(generate(ScheduleKind::gpipe, shape), shape);
    std::vector<Program> without_collectives = whole;
    without_collectives[0].resize(whole[0].size() - 2);
    without_collectives[1].pop_back();

    EXPECT_EQ(lower(without_collectives, shape), whole);
    EXPECT_EQ(lower(whole, shape), whole);
}

TEST(Lower, ReducesBehindTheMessageThatTheLastBackwardSends) {
    const PipelineShape shape = grid_shape(2, 1, 1, 1);
    const std::vector<Program> given =
        programs_from_csv("0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n", "mine");

    EXPECT_EQ(text_of(lower(given, shape)[1]), "1RECV_F0 1F0 1B0 1SEND_B0 REDUCE1 STEP1");
}

TEST(Lower, ComputeInstructionsComeBackInTheirOrder) {
    const PipelineShape shape = grid_shape(3, 2, 2, 5);
    const std::vector<Program> compute = generate(ScheduleKind::interleaved, shape);

    EXPECT_EQ(compute_only(lower(compute, shape)), compute);
}

TEST(Lower, WrongProgramsAreLoweredForTheCheckerToRefuse) {
    const PipelineShape shape = grid_shape(2, 1, 1, 2);
    for (const std::string csv : {"0F0,0F1,0B0,0B1\n", "0F0\n1F0\n1F1\n", "7F0,0F9,0B9\n1F0,2B0\n",
                                  "0F0,0F0,0B0\n1F1,1B1\n", "1F0\n0F0\n"}) {
        const std::vector<Program> programs = lower(programs_from_csv(csv, "mine"), shape);

        EXPECT_FALSE(check(programs, shape).is_proved()) << csv;
    }
}

TEST(Lower, ChannelWithoutSlotsIsABug) {
    const PipelineShape shape = with_slots(grid_shape(2, 1, 1, 1), 0);

    EXPECT_TRUE(says(message_of<BugError>([&] { lower({{}, {}}, shape); }), "a channel with 0 slots"));
}

}  // namespace
}  // namespace trireme
