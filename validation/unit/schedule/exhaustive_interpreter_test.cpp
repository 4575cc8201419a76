#include "unit/schedule/exhaustive_interpreter.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace trireme {
namespace {

Program program_of(const std::string& text) {
    Program program;
    std::istringstream words(text);
    for (std::string word; words >> word;) program.push_back(parse_instruction(word, "a test"));
    return program;
}

// One stage for each team, executed in `slots` buffers a channel.
Exploration explore_row(const std::vector<std::string>& texts, int slots, bool is_training) {
    PipelineShape shape{.teams = static_cast<int>(texts.size()), .micro_batches = 2};
    shape.slots = slots;
    shape.is_training = is_training;
    shape.holders.clear();
    shape.executor.clear();
    std::vector<Program> programs;
    for (int team = 0; team < shape.teams; ++team) {
        shape.holders.push_back({team});
        shape.executor.push_back({team, team});
        programs.push_back(program_of(texts[static_cast<std::size_t>(team)]));
    }
    return explore(programs, shape);
}

TEST(ExhaustiveInterpreter, CountsTheStatesOfIndependentTeams) {
    PipelineShape shape{.teams = 2, .micro_batches = 4, .holders = {{0, 1}}, .executor = {{0, 0, 1, 1}}};
    shape.is_training = false;

    const Exploration exploration = explore({program_of("0F0 0F1"), program_of("0F2 0F3")}, shape);

    EXPECT_TRUE(exploration.is_accepted());
    EXPECT_EQ(exploration.states, 9U);  // each of three counters with each of three
    EXPECT_EQ(exploration.ends, std::vector<ProgramCounters>({{2, 2}}));
}

TEST(ExhaustiveInterpreter, HoldsAResultInItsSlotUntilItsMessageIsComplete) {
    const std::string late_sends = "0F0 0F1 0SEND_F0 0SEND_F1";
    const std::string reader = "1RECV_F0 1F0 1RECV_F1 1F1";

    EXPECT_EQ(explore_row({late_sends, reader}, 1, false).objection,
              "team 0 is stuck at 0F1; team 1 is stuck at 1F0; ");
    EXPECT_TRUE(explore_row({late_sends, reader}, 2, false).is_accepted());
}

TEST(ExhaustiveInterpreter, PostsNoReceiveWithoutASlot) {
    const std::string writer = "0F0 0SEND_F0 0F1 0SEND_F1";
    const std::string early_receives = "1RECV_F0 1RECV_F1 1F0 1F1";

    EXPECT_EQ(explore_row({writer, early_receives}, 1, false).objection, "team 1 is stuck at 1RECV_F1; ");
    EXPECT_TRUE(explore_row({writer, early_receives}, 2, false).is_accepted());
}

TEST(ExhaustiveInterpreter, StepsWhenAllTeamsHaveReduced) {
    const std::string writer = "0F0 0SEND_F0 0RECV_B0 0F1 0SEND_F1 0B0 0RECV_B1 0B1 REDUCE0 STEP0";
    const std::string reader = "1RECV_F0 1F0 1B0 1SEND_B0 1RECV_F1 1F1 1I1 1SEND_B1 ";

    const Exploration sound = explore_row({writer, reader + "1W1 REDUCE1 STEP1"}, 1, true);
    EXPECT_TRUE(sound.is_accepted()) << sound.objection;
    EXPECT_EQ(sound.peak_activations, (std::vector<int>{2, 1}));
    EXPECT_EQ(explore_row({writer, reader + "1W1 STEP1 REDUCE1"}, 1, true).objection,
              "team 0 is stuck at STEP0; team 1 is stuck at STEP1; ");
    EXPECT_EQ(explore_row({writer, reader + "REDUCE1 1W1 STEP1"}, 1, true).objection,
              "team 0 is stuck at STEP0; team 1 is stuck at REDUCE1; ");
}

TEST(ExhaustiveInterpreter, RejectsWhatIsWrongAsItIsWritten) {
    const std::string writer = "0F0 0SEND_F0 0F1 0SEND_F1";
    const std::string reader = "1RECV_F0 1F0 1RECV_F1 1F1";
    const auto objection_to = [&](const std::string& at_0, const std::string& at_1) {
        return explore_row({at_0, at_1}, 1, false).objection;
    };

    EXPECT_EQ(objection_to(writer, reader), "");
    EXPECT_EQ(objection_to(writer, "1RECV_F0 1F0 1RECV_F1"), "no forward of stage 1 of micro-batch 1");
    EXPECT_EQ(objection_to(writer, reader + " 1F1"), "1F1 stands twice");
    EXPECT_EQ(objection_to(writer + " 1F1", reader), "1F1 of team 0: is not the executor");
    EXPECT_EQ(objection_to(writer, reader + " 1RECV_F2"), "1RECV_F2 of team 1: no such micro-batch");
    EXPECT_EQ(objection_to(writer, reader + " 1SEND_F1"), "1SEND_F1 of team 1: nobody is at the other end");
    EXPECT_EQ(objection_to(writer, reader + " 1B1"), "1B1 of team 1: forward only");
    EXPECT_EQ(objection_to("0F0 0F1 0SEND_F1", reader), "a message lacks one of its ends");
    EXPECT_EQ(objection_to(writer, "1RECV_F1 1F1 1RECV_F0 1F0"), "0SEND_F0 meets 1RECV_F1");
}

}  // namespace
}  // namespace trireme
