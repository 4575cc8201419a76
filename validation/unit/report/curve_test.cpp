#include <gtest/gtest.h>

#include <algorithm>

#include "report/svg_chart.hpp"

namespace trireme::report {
namespace {

Curve flat(std::size_t points) {
    Curve curve;
    for (std::size_t i = 0; i < points; ++i) curve.push_back({static_cast<double>(i), 1});
    return curve;
}

TEST(CurveThinning, ReturnsShortCurvesUnchanged) { EXPECT_EQ(thin_curve(flat(10), 10), flat(10)); }

TEST(CurveThinning, KeepsTheMinimumAndMaximumOfEachIntervalInOrder) {
    const Curve curve{{1, 5}, {2, 9}, {3, 2}, {4, 4}, {5, 1}, {6, 3}, {7, 8}, {8, 6}};

    EXPECT_EQ(thin_curve(curve, 4), (Curve{{2, 9}, {3, 2}, {5, 1}, {7, 8}}));
}

TEST(CurveThinning, KeepsASpikeAmongManyPoints) {
    Curve curve = flat(123457);
    curve[77777].y = 50;

    const Curve few = thin_curve(curve, 1000);

    EXPECT_LE(few.size(), 1000U);
    EXPECT_GE(few.size(), 500U);
    EXPECT_EQ(std::count(few.begin(), few.end(), Point{77777, 50}), 1);
}

const Curve uneven{{1, 3}, {2, 6}, {3, 0}, {4, 3}, {5, 9}};

TEST(CurveSmoothing, AveragesBothSides) {
    const Curve smooth = smooth_curve(uneven, 1, 100);

    EXPECT_DOUBLE_EQ(smooth.at(1).y, 3);
    EXPECT_DOUBLE_EQ(smooth.at(2).y, 3);
    EXPECT_DOUBLE_EQ(smooth.at(3).y, 4);
}

TEST(CurveSmoothing, FitsALineThroughTheNeighboursAtTheEnds) {
    const Curve smooth = smooth_curve(uneven, 2, 100);

    EXPECT_DOUBLE_EQ(smooth.front().y, 4.5);  // 3, 6, 0: mean 3, slope -1.5
    EXPECT_DOUBLE_EQ(smooth.back().y, 8.5);   // 0, 3, 9: mean 4, slope 4.5
}

TEST(CurveSmoothing, KeepsLinesAndShortCurvesUnchanged) {
    const Curve line{{1, 8}, {2, 6}, {3, 4}, {4, 2}};

    const Curve smooth = smooth_curve(line, 100, 100);

    ASSERT_EQ(smooth.size(), line.size());
    for (std::size_t i = 0; i < line.size(); ++i) EXPECT_DOUBLE_EQ(smooth[i].y, line[i].y);
    EXPECT_EQ(smooth_curve({}, 3, 100), Curve{});
    EXPECT_EQ(smooth_curve({{1, 8}}, 3, 100), (Curve{{1, 8}}));
}

TEST(CurveSmoothing, ConfinesAnOutlierToItsWindow) {
    Curve curve = flat(50);
    curve[20].y = 1e100;

    const Curve smooth = smooth_curve(curve, 3, 100);

    for (const std::size_t far : {std::size_t{0}, std::size_t{16}, std::size_t{24}, std::size_t{49}}) {
        EXPECT_DOUBLE_EQ(smooth.at(far).y, 1);
    }
}

TEST(CurveSmoothing, ReturnsEvenlySpacedPointsFromEndToEnd) {
    const Curve smooth = smooth_curve(flat(101), 2, 5);

    ASSERT_EQ(smooth.size(), 5U);
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(smooth[i].x, 25 * static_cast<double>(i));
}

}  // namespace
}  // namespace trireme::report
