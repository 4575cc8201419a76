#include "trireme/schedule/instruction.hpp"

#include <gtest/gtest.h>

#include "error_message.hpp"
#include "trireme/base/error.hpp"

namespace trireme::schedule {
namespace {

using validation::catch_message;
using validation::says;

std::string refusal_of(const std::string& text) {
    return catch_message<ConfigError>([&] { parse_instruction(text, "line 3 of my.csv"); });
}

const Program one_of_each = {{Op::forward, 2, 0},
                             {Op::backward, 12, 34},
                             {Op::backward_input, 0, 5},
                             {Op::backward_weight, 0, 5},
                             {Op::send_forward, 2, 0},
                             {Op::receive_forward, 3, 0},
                             {Op::send_backward, 2, 10},
                             {Op::receive_backward, 1, 10},
                             {Op::reduce, 2},
                             {Op::step, 11},
                             {Op::validate, 3},
                             {.op = Op::set_clock, .mhz = 900}};

TEST(Instruction, IsWrittenInTheDocumentedNotation) {
    EXPECT_EQ(to_string(one_of_each),
              "2F0 12B34 0I5 0W5 2SEND_F0 3RECV_F0 2SEND_B10 1RECV_B10 REDUCE2 STEP11 "
              "VALIDATE3 CLOCK900");
}

TEST(Instruction, RoundTripsThroughText) {
    for (const Instruction& instruction : one_of_each) {
        EXPECT_EQ(parse_instruction(to_string(instruction), "here"), instruction) << to_string(instruction);
    }
}

TEST(Instruction, HasAMicrobatchUnlessItIsACollectiveOrClock) {
    for (const Instruction& instruction : one_of_each) {
        EXPECT_EQ(has_microbatch(instruction.op), instruction.microbatch != no_microbatch)
            << to_string(instruction);
    }
}

TEST(Instruction, IsComputeForForwardBackwardAndItsHalves) {
    Program compute;
    for (const Instruction& instruction : one_of_each) {
        if (is_compute(instruction.op)) compute.push_back(instruction);
    }

    EXPECT_EQ(to_string(compute), "2F0 12B34 0I5 0W5");
}

TEST(Instruction, RejectsInvalidTextWithItsLocation) {
    const std::string message = refusal_of("2Q0");

    EXPECT_TRUE(says(message, "line 3 of my.csv: '2Q0' is not an instruction"));
    EXPECT_TRUE(says(message, "2F0, 2B0, 2I0, 2W0"));
}

TEST(Instruction, RejectsMisspeltWordsWithASuggestion) {
    EXPECT_TRUE(says(refusal_of("2SNED_F0"), "did you mean SEND_F?"));
    EXPECT_TRUE(says(refusal_of("REDUC2"), "did you mean REDUCE?"));
}

TEST(Instruction, ReadsAndWritesTheAgeOfWeights) {
    EXPECT_EQ(parse_instruction("2B7@3", "the test"),
              (Instruction{.op = Op::backward, .stage = 2, .microbatch = 7, .age = 3}));
    EXPECT_EQ(to_string(Instruction{.op = Op::backward_weight, .stage = 2, .microbatch = 7, .age = 12}),
              "2W7@12");
}

TEST(Instruction, RejectsMissingOrMisplacedNumbers) {
    for (const std::string text :
         {"",      "2",     "F",     "2F",         "F0",         "2F-1",         "-2F0",
          "2F0F0", "2F0@",  "2F0@x", "2SEND_F0@1", "STEP2@1",    "2 F0",         "0REDUCE2",
          "STEP",  "2STEP", "CLOCK", "2CLOCK900",  "CLOCK900@1", "2147483647F0", "2F99999999999"}) {
        EXPECT_TRUE(says(refusal_of(text), "'" + text + "' is not an instruction")) << text;
    }
}

}  // namespace
}  // namespace trireme::schedule
