#include "report/svg_chart.hpp"

#include <gtest/gtest.h>

#include "error_message.hpp"

namespace trireme::report {
namespace {

using validation::says;

Chart chart_of(const Curve& curve) {
    return {.title = "Loss",
            .y_label = "loss",
            .series = {{.name = "each step", .mark = Mark::line, .colour = 0, .curve = curve}}};
}

TEST(Coordinates, GoRightWithXAndUpWithY) {
    const Axis x({0, 10}, Scale::linear, 6, false);
    const Axis y({0, 4}, Scale::linear, 6, false);
    const Frame frame{.width = 120, .height = 60, .left = 10, .right = 110, .top = 5, .bottom = 45};

    EXPECT_EQ(format_points({{0, 0}, {5, 1}, {10, 4}}, x, y, frame), "10.0,45.0 60.0,35.0 110.0,5.0");
}

TEST(SvgChart, DrawsPointsAtHandComputedCoordinates) {
    const std::string svg = draw_chart(chart_of({{1, 4}, {2, 2}, {4, 0}}));

    // Steps 0 to 4 span 392 pixels, and losses 0 to 4 span 194.
    EXPECT_TRUE(says(svg, "points=\"174.0,12.0 272.0,109.0 468.0,206.0\""));
    for (const char* tick : {">0<", ">1<", ">2<", ">3<", ">4<"}) EXPECT_TRUE(says(svg, tick));
    EXPECT_TRUE(says(svg, ">step</text>"));
    EXPECT_TRUE(says(svg, ">loss</text>"));
}

TEST(SvgChart, StartsAtTheFirstStepOfTheRun) {
    Chart chart = chart_of({{2, 4}, {4, 0}});
    EXPECT_TRUE(says(draw_chart(chart), "points=\"76.0,12.0 468.0,206.0\""));

    chart.first_step = 1;

    EXPECT_TRUE(says(draw_chart(chart), "points=\"272.0,12.0 468.0,206.0\""));
}

TEST(SvgChart, DrawsASinglePointAsADot) {
    const std::string svg = draw_chart(chart_of({{1, 4}}));

    EXPECT_TRUE(says(svg, "<circle"));
    EXPECT_TRUE(says(svg, "<title>step 1: 4</title>"));
}

TEST(SvgChart, IsEmptyWithoutPoints) { EXPECT_EQ(draw_chart(chart_of({})), ""); }

TEST(SvgChart, NamesItsSeriesIfThereAreSeveral) {
    Chart chart = chart_of({{1, 4}, {2, 2}});
    EXPECT_FALSE(says(draw_chart(chart), "each step"));

    chart.series.push_back({.name = "a < b", .mark = Mark::dots, .colour = 1, .curve = {{2, 3}}});
    chart.series.push_back({.name = "absent", .mark = Mark::dots, .colour = 2, .curve = {}});

    EXPECT_TRUE(says(draw_chart(chart), "each step"));
    EXPECT_TRUE(says(draw_chart(chart), "a &lt; b"));
    EXPECT_FALSE(says(draw_chart(chart), "absent"));
}

TEST(SvgChart, IsLogarithmicIfAllowedPossibleAndUseful) {
    Chart chart = chart_of({{1, 10}, {2, 1}});
    EXPECT_EQ(choose_y_scale(chart), Scale::linear);

    chart.may_be_log = true;
    EXPECT_EQ(choose_y_scale(chart), Scale::log);
    EXPECT_TRUE(says(draw_chart(chart), "loss (log scale)"));

    chart.series[0].curve[1].y = 0;
    EXPECT_EQ(choose_y_scale(chart), Scale::linear);
    chart.series[0].curve[1].y = 5;
    EXPECT_EQ(choose_y_scale(chart), Scale::linear);
}

}  // namespace
}  // namespace trireme::report
