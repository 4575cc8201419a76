#include "trireme/schedule/lower.hpp"

#include <gtest/gtest.h>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "trireme/schedule/check.hpp"
#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/schedule_text.hpp"
#include "unit/schedule/program_damage.hpp"
#include "unit/schedule/programs_as_text.hpp"

namespace trireme::schedule {
namespace {

using Lines = std::initializer_list<const char*>;
using validation::catch_message;
using validation::says;

std::vector<std::string> lowered(const Schedule& kind, const PipelineShape& shape) {
    return texts_of(lower(generate(kind, shape), shape));
}

PipelineShape with_steps(PipelineShape shape, int steps) {
    shape.steps = steps;
    return shape;
}

PipelineShape with_slots(PipelineShape shape, int slots) {
    shape.slots = slots;
    return shape;
}

TEST(Lower, PutsSendsAfterResultsAndReceivesAfterPreviousReaders) {
    const std::vector<std::string> programs = lowered(require_schedule("1f1b"), make_grid_shape(2, 1, 1, 3));

    EXPECT_EQ(programs[0],
              "0RECV_B0 0F0 0SEND_F0 0F1 0SEND_F1 0B0 0RECV_B1 0F2 0SEND_F2 0B1 0RECV_B2 0B2 REDUCE0 STEP0");
    EXPECT_EQ(programs[1],
              "1RECV_F0 1F0 1RECV_F1 1B0 1SEND_B0 1F1 1RECV_F2 1B1 1SEND_B1 1F2 1B2 1SEND_B2 REDUCE1 STEP1");
}

TEST(Lower, PostsReceivesAheadUpToTheNumberOfSlots) {
    const std::vector<std::string> programs =
        lowered(require_schedule("gpipe"), with_slots(make_grid_shape(2, 1, 1, 3, false), 2));

    EXPECT_EQ(programs[0], "0F0 0SEND_F0 0F1 0SEND_F1 0F2 0SEND_F2");
    EXPECT_EQ(programs[1], "1RECV_F0 1RECV_F1 1F0 1RECV_F2 1F1 1F2");
}

TEST(Lower, OrdersReceivesByWhenTheyAreRead) {
    // Team 2 receives from both replicas of the previous stage, and reads team 1's message first.
    PipelineShape shape = make_uneven_shape({2, 1}, 2, false);
    shape.executor[0] = {1, 0};

    const std::vector<std::string> programs = lowered(require_schedule("gpipe"), shape);

    EXPECT_EQ(programs[2], "1RECV_F0 1RECV_F1 1F0 1F1");
}

TEST(Lower, KeepsSendOrderOnAChannelRegardlessOfReadOrder) {
    const PipelineShape shape = with_slots(make_grid_shape(2, 1, 1, 2, false), 2);
    const std::vector<Program> compute = parse_phases_csv("0F0,0F1\n1F1,1F0\n", "mine").body;

    const std::vector<Program> programs = lower(compute, shape);

    EXPECT_EQ(to_string(programs[1]), "1RECV_F0 1RECV_F1 1F1 1F0");
    EXPECT_TRUE(verify_programs(programs, shape).is_proved());
}

TEST(Lower, SendsNothingBetweenStagesOfOneTeam) {
    const std::vector<std::string> programs =
        lowered(require_schedule("interleaved"), make_grid_shape(1, 1, 2, 1));

    EXPECT_EQ(programs[0], "0F0 1F0 1B0 REDUCE1 0B0 REDUCE0 STEP0 STEP1");
}

TEST(Lower, SendsAfterTheInputHalfAndReducesAfterTheWeightHalf) {
    const PipelineShape shape = make_grid_shape(2, 1, 1, 1);
    const std::vector<Program> compute = parse_phases_csv("0F0,0I0,0W0\n1F0,1I0,1W0\n", "mine").body;

    const std::vector<Program> programs = lower(compute, shape);

    EXPECT_EQ(to_string(programs[0]), "0RECV_B0 0F0 0SEND_F0 0I0 0W0 REDUCE0 STEP0");
    EXPECT_EQ(to_string(programs[1]), "1RECV_F0 1F0 1I0 1SEND_B0 1W0 REDUCE1 STEP1");
    EXPECT_TRUE(verify_programs(programs, shape).is_proved());
}

TEST(Lower, MakesTeamsWithoutMicrobatchReduceAndStep) {
    const std::vector<std::string> programs = lowered(require_schedule("gpipe"), make_uneven_shape({3}, 2));

    EXPECT_EQ(programs[2], "REDUCE0 STEP0");
}

TEST(Lower, OrdersReducesEquallyOnAllTeams) {
    const PipelineShape shape{
        .teams = 2, .microbatches = 3, .holders = {{0, 1}, {0, 1}}, .executor = {{0, 1, 0}, {0, 1, 1}}};
    const std::vector<Program> compute =
        parse_phases_csv("0F0,1F0,0F2,1B0,0B0,0B2\n0F1,1F1,1F2,1I2,1B1,0B1,1W2\n", "mine").body;

    const std::vector<Program> programs = lower(compute, shape);

    EXPECT_EQ(to_string(programs[0]), "0RECV_B2 0F0 1F0 0F2 0SEND_F2 1B0 REDUCE1 0B0 0B2 REDUCE0 STEP0 STEP1");
    EXPECT_EQ(to_string(programs[1]),
              "1RECV_F2 0F1 1F1 1F2 1I2 1SEND_B2 1B1 0B1 1W2 REDUCE1 REDUCE0 STEP0 STEP1");
    EXPECT_TRUE(verify_programs(programs, shape).is_proved());
}

TEST(Lower, AddsOnlyMissingCollectivesToLoweredPrograms) {
    const PipelineShape shape = make_grid_shape(2, 1, 1, 1);
    const std::vector<Program> complete = lower(generate(require_schedule("gpipe"), shape), shape);
    std::vector<Program> without_collectives = complete;
    without_collectives[0].resize(complete[0].size() - 2);
    without_collectives[1].pop_back();

    EXPECT_EQ(lower(without_collectives, shape), complete);
    EXPECT_EQ(lower(complete, shape), complete);
}

TEST(Lower, ReducesAfterTheSendOfTheLastBackward) {
    const PipelineShape shape = make_grid_shape(2, 1, 1, 1);
    const std::vector<Program> given =
        parse_phases_csv("0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n", "mine").body;

    EXPECT_EQ(to_string(lower(given, shape)[1]), "1RECV_F0 1F0 1B0 1SEND_B0 REDUCE1 STEP1");
}

TEST(Lower, KeepsTheOrderOfComputeInstructions) {
    const PipelineShape shape = make_grid_shape(3, 2, 2, 5);
    const std::vector<Program> compute = generate(require_schedule("interleaved"), shape);

    EXPECT_EQ(extract_compute(lower(compute, shape)), compute);
}

TEST(Lower, LeavesInvalidProgramsToBeRejectedByCheck) {
    const PipelineShape shape = make_grid_shape(2, 1, 1, 2);
    for (const std::string csv : {"0F0,0F1,0B0,0B1\n", "0F0\n1F0\n1F1\n", "7F0,0F9,0B9\n1F0,2B0\n",
                                  "0F0,0I0,0B0\n1F1,1B1\n", "1F0\n0F0\n"}) {
        const std::vector<Program> programs = lower(parse_phases_csv(csv, "mine").body, shape);

        EXPECT_FALSE(verify_programs(programs, shape).is_proved()) << csv;
    }
}

TEST(Lower, ThrowsBugErrorForChannelsWithoutSlots) {
    const PipelineShape shape = with_slots(make_grid_shape(2, 1, 1, 1), 0);

    EXPECT_TRUE(says(catch_message<BugError>([&] { lower({{}, {}}, shape); }), "a channel with 0 slots"));
}

// This also applies to old weights, which a single step does not show.
TEST(LowerPhases, AddsMessagesAndCollectivesToSeparateSteps) {
    const Phases compute{.prologue = std::vector<Program>(2),
                         .body = programs_of({"0F0@1 0B0@1", "1F0@1 1B0@1"})};

    const Phases phases = lower_phases(compute, make_grid_shape(2, 1, 1, 1));

    EXPECT_EQ(phases.prologue, compute.prologue);
    EXPECT_EQ(phases.body, programs_of({"0RECV_B0 0F0@1 0SEND_F0 0B0@1 REDUCE0 STEP0",
                                        "1RECV_F0 1F0@1 1B0@1 1SEND_B0 REDUCE1 STEP1"}));
}

Phases in_flight(const PipelineShape& shape, Schedule kind) { return generate_phases(kind, shape); }

TEST(LowerPhases, ReportsNoObstacleForSupportedPhases) {
    PipelineShape shape = make_uneven_shape({1, 2}, 2);
    for (shape.slots = 1; shape.slots <= 9; ++shape.slots) {
        EXPECT_EQ(find_lowering_obstacle(in_flight(shape, require_schedule("pipedream-2bw")), shape), "");
    }
    EXPECT_EQ(find_lowering_obstacle({.prologue = programs_of({""}), .body = programs_of({"0B0"})},
                                     make_grid_shape(1, 1, 1, 1)),
              "");  // lower() takes everything, and verify_programs() finds the fault
}

TEST(LowerPhases, ReportsObstaclesInPhasesWithWorkInFlight) {
    const PipelineShape shape = make_grid_shape(2, 1, 1, 1);
    const auto obstacle_to = [&](Lines prologue, Lines body) {
        return find_lowering_obstacle({.prologue = programs_of(prologue), .body = programs_of(body)}, shape);
    };

    EXPECT_EQ(obstacle_to({"0F0", "1F0 1B0 REDUCE1"}, {"0F1 0B0@1 REDUCE0 STEP0", "1F1 1B1 REDUCE1 STEP1"}),
              "");
    EXPECT_TRUE(says(obstacle_to({"0F0", "1F0 1B0"}, {"0F1 0B0@1", "1F1 1B1"}), "has REDUCE0 for only "));
    EXPECT_TRUE(
        says(obstacle_to({"0F0", "1F0 1B0 REDUCE1"}, {"0F1 0B0 REDUCE0 STEP0", "1F1 1B1 REDUCE1 STEP1"}),
             "uses the weights of stage 0 after 1 update, but 0F1 uses them after 0 updates"));
    EXPECT_EQ(obstacle_to({"0F0", "1F0 1B0 REDUCE1"}, {"0F1 0B0@1 REDUCE0 STEP0", "STEP1 1F1@1 1B1@1 REDUCE1"}),
              "the steps differ once sends and receives are inserted; end each body with its STEPs or "
              "VALIDATEs, and execute the micro-batches of the first step in the same order as those of later "
              "steps");
}

// Any phases without an obstacle are lowered, and their programs are proved.
TEST(LowerPhases, MakesProvableProgramsIfThereIsNoObstacle) {
    constexpr std::size_t cases = 4000;
    const std::vector<PipelineShape> shapes = {make_grid_shape(2, 1, 1, 2), make_grid_shape(3, 1, 1, 2),
                                               make_uneven_shape({1, 2}, 3), make_uneven_shape({2, 1}, 2)};
    std::size_t taken = 0;
    for (std::size_t i = 0; i < cases; ++i) {
        Draw draw(RandomKey{20260413}.then("lower").then(i));
        PipelineShape shape = shapes[draw.below(shapes.size())];
        shape.slots = draw.within(1, 6);
        shape.steps = 3;  // the damage may name micro-batches of three steps
        Phases phases = in_flight(
            shape, draw.one_in(2) ? require_schedule("pipedream-2bw") : require_schedule("pipedream-vertical"));
        const std::string damage = damage_once(draw.one_in(3) ? phases.prologue : phases.body, shape, draw);
        if (!find_lowering_obstacle(phases, with_steps(shape, 1)).empty()) continue;
        ++taken;

        const Phases lowered = lower_phases(phases, with_steps(shape, 1));

        if (!keeps_work_in_flight(phases, shape.microbatches)) continue;
        const int enough = count_representative_steps(lowered, shape.microbatches);
        const Verdict verdict = verify_programs(unroll(lowered, shape, enough), with_steps(shape, enough));
        EXPECT_TRUE(verdict.is_proved()) << damage << ": " << verdict.fault->what;
    }
    EXPECT_GT(taken, cases / 10);
}

}  // namespace
}  // namespace trireme::schedule
