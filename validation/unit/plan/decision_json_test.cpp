#include <gtest/gtest.h>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "trireme/plan/decision.hpp"
#include "unit/plan/small_layouts.hpp"

namespace trireme::plan {
namespace {

std::string refusal_of_decisions(const std::string& text) {
    return validation::catch_message<ConfigError>([&] { parse_decisions(text, "my.jsonl"); });
}

// Returns a line with a step, a layout of one rank, and `more` keys.
std::string line(std::size_t step, const std::string& more = "") {
    return cat(R"({"step": )", step, R"(, "layout": {"layers": 2, "stages": [{"layers": [0, 2], "replicas": )",
               R"([{"ranks": [0]}]}]})", more, "}\n");
}

Decision full_decision() {
    return {.step = 5,
            .layout = uneven_layout({2, 1}),
            .microbatches = 4,
            .schedule = "gpipe",
            .skipped = {0, 0.75, 0},
            .migrations = {{.from = 1, .to = 0, .fractions = {0.125, 0.125, 0, 0.125}}},
            .extra_forwards = {1, 0},
            .clocks = {{{{1, 1530}, {14, 900}}}, {{{2, 900}}, {{1, 990}, {1, 900}}}},
            .policy = "by hand",
            .reason = "rank 1 is slow",
            .causes = {{.proposer = "length", .reason = "long samples", .terms = {{"longest", 512}}},
                       {.proposer = "uneven", .reason = "rank 1 is slow"}},
            .from = "0123456789abcdef",
            .to = "fedcba9876543210",
            .terms = {{"gain", 0.25}, {"moved_bytes", 4096}},
            .predicted_seconds = 0.75,
            .measured_seconds = 0.5};
}

TEST(DecisionJson, IsReadBackAsItWasWritten) {
    const Decision short_one{.step = 7, .layout = uneven_layout({1})};

    const auto read = parse_decisions(to_json(full_decision()) + "\n" + to_json(short_one) + "\n", "it");

    EXPECT_EQ(read, (std::vector<Decision>{full_decision(), short_one}));
}

TEST(DecisionJson, IsOneLineWithKeysInReadingOrder) {
    EXPECT_EQ(to_json(full_decision()),
              R"({"step":5,"policy":"by hand","from":"0123456789abcdef","to":"fedcba9876543210",)"
              R"("layout":{"layers":4,"stages":[{"layers":[0,2],"replicas":[{"ranks":[0]},{"ranks":[1]}]},)"
              R"({"layers":[2,4],"replicas":[{"ranks":[2]}]}],"idle":[]},"microbatches":4,"schedule":"gpipe",)"
              R"("left_out":[0.0,0.75,0.0],"migrations":[{"from":1,"to":0,"parts":[0.125,0.125,0.0,0.125]}],)"
              R"("extra_forwards":[1,0],)"
              R"("clocks":["1530 14*900",["2*900","990 900"]],"reason":"rank 1 is slow",)"
              R"("causes":[{"proposer":"length","reason":"long samples","terms":{"longest":512}},)"
              R"({"proposer":"uneven","reason":"rank 1 is slow"}],"terms":{"gain":0.25,"moved_bytes":4096},)"
              R"("seconds":{"predicted":0.75,"measured":0.5}})");
}

TEST(DecisionJson, NeedsOnlyStepAndLayout) {
    const auto read = parse_decisions(line(0) + "\n" + line(3), "it");

    ASSERT_EQ(read.size(), 2U);
    EXPECT_EQ(read[1], (Decision{.step = 3, .layout = uneven_layout({1})}));
}

TEST(DecisionJson, SkipsLinesThatExplainAnUnchangedPlan) {
    const std::string text = plan_kept_to_json(3, "the best plan saves 0.1 s") + "\n";

    EXPECT_EQ(text, "{\"step\":3,\"no_change\":\"the best plan saves 0.1 s\"}\n");
    EXPECT_TRUE(parse_decisions(text, "the test").empty());
}

TEST(DecisionJson, NamesTheLineAndKeyOfAnError) {
    EXPECT_EQ(refusal_of_decisions(line(1) + R"({"step": 2)"),
              "my.jsonl, line 2 is not valid JSON: it ends too early, after 10 bytes; correct it, or "
              "copy it again");
    EXPECT_EQ(
        refusal_of_decisions(R"({"step": 2})"),
        "my.jsonl, line 1 has no \"layout\"; the known keys are step, layout, policy, from, to, microbatches, "
        "batch, schedule, frozen, left_out, migrations, extra_forwards, clocks, reason, causes, terms, "
        "seconds");
    EXPECT_EQ(refusal_of_decisions(line(1, R"(, "left_out": [0, 1])")),
              "my.jsonl, line 1: left_out[1] is 1; it must be a fraction: at least 0 and less than 1");
    EXPECT_EQ(refusal_of_decisions(line(1, R"(, "migrations": [{"from": 1, "to": 0}])")),
              "my.jsonl, line 1: migrations[0] has no \"parts\"; the known keys are from, to, parts");
    EXPECT_EQ(refusal_of_decisions(line(1, R"(, "migrations": [{"from": 1, "to": 0, "parts": [0.5]}])")),
              "my.jsonl, line 1: migrations[0].parts is [0.5]; it must be a list of four fractions: for the "
              "first and the last matmul of attention, then for the first and the last matmul of the MLP");
    EXPECT_EQ(
        refusal_of_decisions(line(1, R"(, "clocks": ["900", ["900", "fast"]])")),
        "my.jsonl, line 1: clocks[1][1] is \"fast\"; it must be a text such as \"1530 14*900 1530\": clocks "
        "in MHz, with the numbers of passes");
    EXPECT_EQ(refusal_of_decisions(line(1, R"(, "clocks": ["900", []])")),
              "my.jsonl, line 1: clocks[1] is []; it must be a text, or a list with one text per replica");
    EXPECT_EQ(refusal_of_decisions(line(1, R"(, "extra_forwards": [])")),
              "my.jsonl, line 1: extra_forwards is []; it must be a list with one number per stage");
    EXPECT_EQ(refusal_of_decisions(line(1, R"(, "microbatches": 0)")),
              "my.jsonl, line 1: microbatches is 0; it must be at least 1");
    EXPECT_EQ(refusal_of_decisions(line(1, R"(, "terms": {"gain": "much"})")),
              "my.jsonl, line 1: terms.gain is \"much\"; it must be a number of at least 0");
    EXPECT_EQ(refusal_of_decisions(line(1, R"(, "causes": [{"proposer": "length"}])")),
              "my.jsonl, line 1: causes[0] has no \"reason\"; the known keys are proposer, reason, terms");
    EXPECT_EQ(refusal_of_decisions(line(1, R"(, "terms": [1])")),
              "my.jsonl, line 1: terms is [1]; it must be an object whose values are numbers");
    EXPECT_EQ(refusal_of_decisions(line(1, R"(, "shedule": "1f1b")")),
              "my.jsonl, line 1 has an unknown key \"shedule\"; did you mean schedule?");
}

TEST(DecisionJson, RequiresIncreasingSteps) {
    EXPECT_EQ(refusal_of_decisions(line(4) + line(4)),
              "my.jsonl, line 2 has step 4, but the decision before it has step 4; steps must increase from "
              "line to line");
}

}  // namespace
}  // namespace trireme::plan
