#include <gtest/gtest.h>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "unit/plan/small_layouts.hpp"

namespace trireme::plan {
namespace {

std::string refusal_of_layout(const std::string& text) {
    return validation::catch_message<ConfigError>([&] { parse_layout(text, "my.json"); });
}

// Returns the error message for a layout whose only stage is `stage`.
std::string refusal_of_stage(const std::string& stage) {
    return refusal_of_layout(R"({"layers": 4, "stages": [)" + stage + "]}");
}

// Returns the error message for a stage whose only replica is `replica`.
std::string refusal_of_replica(const std::string& replica) {
    return refusal_of_stage(R"({"layers": [0, 4], "replicas": [)" + replica + "]}");
}

TEST(LayoutJson, IsReadInTheDocumentedFormat) {
    const layout::Layout layout = parse_layout(
        R"({"layers": 27, "stages": [
             {"layers": [0, 8], "replicas": [{"ranks": [0, 1], "shares": [5, 3]}, {"ranks": [2]}]},
             {"layers": [8, 27], "replicas": [{"ranks": [3, 4], "turns": 3}]}], "idle": [7]})",
        "my.json");

    const layout::Layout expected{
        27, {{{0, 8}, {{{0, 1}, {5, 3}}, {{2}, {1}}}}, {{8, 19}, {{{3, 4}, {1, 1}, 3}}}}, {7}};
    EXPECT_EQ(layout, expected);
}

TEST(LayoutJson, IsReadBackAsItWasWritten) {
    layout::Layout uneven = uneven_layout({3, 1, 2});
    uneven.stages[0].replicas[1].shares = {7};
    uneven.stages[0].replicas[2].turns = 5;
    uneven.idle = {6, 7};
    const layout::Layout grid =
        even_grid({.pipe = 2, .data = 2, .tensor = 3, .chunks = 2, .shares = {3, 2, 2}});

    EXPECT_EQ(parse_layout(to_json(uneven), "it"), uneven);
    EXPECT_EQ(parse_layout(to_json(grid), "it"), grid);
}

TEST(LayoutJson, IsFoundInAPlan) {
    const layout::Layout layout = uneven_layout({2, 1});

    EXPECT_EQ(parse_layout(R"({"model": "gpt2", "layout": )" + to_json(layout) + "}", "plan.json"), layout);
    EXPECT_EQ(refusal_of_layout(R"({"layout": {"layers": 2, "stages": 3}})"),
              "my.json: layout.stages is 3; it must be a list");
}

TEST(LayoutJson, OmitsSharesOfOne) {
    EXPECT_EQ(to_json(even_grid({.tensor = 2})),
              R"({"layers":2,"stages":[{"layers":[0,2],"replicas":[{"ranks":[0,1]}]}],"idle":[]})");
}

TEST(LayoutJson, MustBeValidJson) {
    EXPECT_EQ(refusal_of_layout(R"({"layers": 4,)"),
              "my.json is not valid JSON: it ends too early, after 13 bytes; correct it, or copy it again");
    EXPECT_EQ(refusal_of_layout(""),
              "my.json is not valid JSON: it ends too early, after 0 bytes; correct it, or copy it again");
    EXPECT_TRUE(
        refusal_of_layout(std::string(1000, '[')).starts_with("my.json is nested deeper than 64 levels"));
    EXPECT_EQ(refusal_of_layout(R"({"layers": 1e999})"),
              "my.json contains a number that is too large for a double; correct the number");
}

TEST(LayoutJson, NamesMissingKeys) {
    EXPECT_EQ(refusal_of_layout("{}"), R"(my.json has no "layers"; the known keys are layers, stages, idle)");
    EXPECT_EQ(refusal_of_layout(R"({"layers": 4})"),
              R"(my.json has no "stages"; the known keys are layers, stages, idle)");
    EXPECT_EQ(refusal_of_stage(R"({"layers": [0, 4]})"),
              R"(my.json: stages[0] has no "replicas"; the known keys are layers, replicas)");
    EXPECT_EQ(refusal_of_stage(R"({"replicas": []})"),
              R"(my.json: stages[0] has no "layers"; the known keys are layers, replicas)");
    EXPECT_EQ(refusal_of_replica("{}"),
              R"(my.json: stages[0].replicas[0] has no "ranks"; the known keys are ranks, shares, turns)");
}

TEST(LayoutJson, SuggestsTheNearestKeyForAnUnknownOne) {
    EXPECT_EQ(refusal_of_layout(R"({"layer": 4, "stages": []})"),
              R"(my.json has an unknown key "layer"; did you mean layers?)");
    EXPECT_EQ(refusal_of_layout(R"({"layers": 4, "stages": [], "comment": "mine"})"),
              R"(my.json has an unknown key "comment"; the known keys are layers, stages, idle)");
    EXPECT_EQ(refusal_of_stage(R"({"layers": [0, 4], "replica": []})"),
              R"(my.json: stages[0] has an unknown key "replica"; did you mean replicas?)");
    EXPECT_EQ(refusal_of_replica(R"({"ranks": [0], "share": [1]})"),
              R"(my.json: stages[0].replicas[0] has an unknown key "share"; did you mean shares?)");
}

TEST(LayoutJson, RejectsValuesOfTheWrongType) {
    EXPECT_EQ(refusal_of_layout("[]"),
              "my.json is []; it must be an object with the keys layers, stages, idle");
    EXPECT_EQ(refusal_of_layout(R"({"layers": "4", "stages": []})"),
              R"(my.json: layers is "4"; it must be a whole number from 0 to 16777216)");
    EXPECT_EQ(refusal_of_layout(R"({"layers": 4, "stages": 2})"), "my.json: stages is 2; it must be a list");
    EXPECT_EQ(refusal_of_layout(R"({"layers": 4, "stages": [], "idle": 7})"),
              "my.json: idle is 7; it must be a list");
    EXPECT_EQ(refusal_of_stage("null"),
              "my.json: stages[0] is null; it must be an object with the keys layers, replicas");
    EXPECT_EQ(refusal_of_stage(R"({"layers": [0, 4], "replicas": {}})"),
              "my.json: stages[0].replicas is {}; it must be a list");
    EXPECT_EQ(refusal_of_replica("[0]"),
              "my.json: stages[0].replicas[0] is [0]; it must be an object with the keys ranks, shares, turns");
    EXPECT_EQ(refusal_of_replica(R"({"ranks": 0})"),
              "my.json: stages[0].replicas[0].ranks is 0; it must be a list");
}

TEST(LayoutJson, RejectsNumbersThatAreNotCounts) {
    const std::string whole = "; it must be a whole number from 0 to 16777216";

    EXPECT_EQ(refusal_of_layout(R"({"layers": -4, "stages": []})"), "my.json: layers is -4" + whole);
    EXPECT_EQ(refusal_of_layout(R"({"layers": 1.5, "stages": []})"), "my.json: layers is 1.5" + whole);
    EXPECT_EQ(refusal_of_layout(R"({"layers": 99999999999999999999, "stages": []})"),
              "my.json: layers is 1e+20" + whole);
    EXPECT_EQ(refusal_of_replica(R"({"ranks": [0, -1]})"),
              "my.json: stages[0].replicas[0].ranks[1] is -1" + whole);
    EXPECT_EQ(refusal_of_replica(R"({"ranks": [0], "shares": [0.5]})"),
              "my.json: stages[0].replicas[0].shares[0] is 0.5" + whole);
    EXPECT_EQ(refusal_of_layout(R"({"layers": 4, "stages": [], "idle": [true]})"),
              "my.json: idle[0] is true" + whole);
}

TEST(LayoutJson, RejectsLayersThatAreNotARange) {
    const std::string pair =
        "; it must be a list of the first layer and the layer after the last, such as [0, 8]";

    for (const char* layers : {"[]", "[3]", "[0,1,2]", "[4,0]"}) {
        EXPECT_EQ(refusal_of_stage(std::string(R"({"layers": )") + layers + R"(, "replicas": []})"),
                  std::string("my.json: stages[0].layers is ") + layers + pair);
    }
}

TEST(LayoutJson, TruncatesLongValuesInErrors) {
    EXPECT_EQ(refusal_of_layout('"' + std::string(100, 'x') + '"'),
              "my.json is \"" + std::string(39, 'x') +
                  "...; it must be an object with the keys layers, stages, idle");
}

}  // namespace
}  // namespace trireme::plan
