#include <gtest/gtest.h>

#include "trireme/report/report.hpp"
#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/lower.hpp"
#include "trireme/schedule/schedule_text.hpp"

namespace trireme::report {
namespace {

std::string picture_of(const std::vector<schedule::Program>& compute, const schedule::PipelineShape& shape,
                       const schedule::StageCost& cost = {}) {
    const std::vector<schedule::StageCost> costs(static_cast<std::size_t>(shape.stages()), cost);
    return draw_schedule(predict(lower(compute, shape), shape, costs), "a <plan>");
}

std::string picture_of(const schedule::Schedule& kind, const schedule::PipelineShape& shape) {
    return picture_of(generate(kind, shape), shape);
}

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

TEST(ScheduleSvg, DrawsEveryInstructionOfEveryTeam) {
    const std::string svg =
        picture_of(schedule::require_schedule("1f1b"), schedule::make_grid_shape(3, 1, 1, 4));

    EXPECT_EQ(count(svg, "class=\"row\""), 3U);
    EXPECT_EQ(count(svg, "class=\"cell f\""), 12U);
    EXPECT_EQ(count(svg, "class=\"cell b\""), 12U);
    EXPECT_EQ(count(svg, "class=\"cell s\""), 3U);
    EXPECT_EQ(count(svg, "<title>2B3: 13 to 15</title>"), 0U);
    EXPECT_EQ(count(svg, "<title>2F0: 2 to 3</title>"), 1U);
    EXPECT_EQ(count(svg, ">team 2</text>"), 1U);
}

TEST(ScheduleSvg, StatesTitleTimeAndBubble) {
    const std::string svg =
        picture_of(schedule::require_schedule("gpipe"), schedule::make_grid_shape(2, 1, 1, 4));

    EXPECT_EQ(svg.rfind("<svg xmlns=\"http://www.w3.org/2000/svg\"", 0), 0U);
    EXPECT_EQ(count(svg, ">a &lt;plan&gt;: time 15, bubble 20.0 %</text>"), 1U);
    EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
}

TEST(ScheduleSvg, ExplainsOnlyTheKindsOfInstructionsItContains) {
    const schedule::PipelineShape shape = schedule::make_grid_shape(1, 1, 1, 1);
    const std::string whole = picture_of(schedule::parse_phases_csv("0F0,0B0", "it").body, shape);
    const std::string halves = picture_of(schedule::parse_phases_csv("0F0,0I0,0W0", "it").body, shape);

    EXPECT_EQ(count(whole, "B, full backward"), 1U);
    EXPECT_EQ(count(whole, "I, gradient of the input"), 0U);
    EXPECT_EQ(count(halves, "B, full backward"), 0U);
    EXPECT_EQ(count(halves, "I, gradient of the input"), 1U);
    EXPECT_EQ(count(halves, "W, gradient of the weights"), 1U);
}

TEST(ScheduleSvg, NamesStagesOnlyIfATeamHoldsSeveral) {
    const std::string one =
        picture_of(schedule::require_schedule("gpipe"), schedule::make_grid_shape(2, 1, 1, 2));
    const std::string several =
        picture_of(schedule::require_schedule("interleaved"), schedule::make_grid_shape(2, 1, 2, 2));

    EXPECT_EQ(count(one, "pointer-events=\"none\">1</text>"), 4U);
    EXPECT_EQ(count(several, ">2F1</text>"), 1U);
}

TEST(ScheduleSvg, HasFiniteCoordinatesIfNothingTakesTime) {
    const schedule::StageCost nothing{.forward = 0, .backward_input = 0, .backward_weight = 0};

    const std::string svg = picture_of(schedule::parse_phases_csv("0F0,0B0", "it").body,
                                       schedule::make_grid_shape(1, 1, 1, 1), nothing);

    EXPECT_EQ(count(svg, "nan"), 0U);
    EXPECT_EQ(count(svg, "inf"), 0U);
}

}  // namespace
}  // namespace trireme::report
