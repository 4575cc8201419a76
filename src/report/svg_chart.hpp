// Charts as SVG: curves over two axes, and bars.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/axis.hpp"

namespace trireme::report {

// A point of a curve. The points of a curve are sorted by x.
struct Point {
    double x = 0;
    double y = 0;
    friend bool operator==(const Point&, const Point&) = default;
};
using Curve = std::vector<Point>;

// Returns at most `max_points` (>= 2) points of the curve. The curve is divided into max_points / 2 equal
// ranges. The lowest and the highest point of each range are returned, so that no spike is lost.
Curve thin_curve(const Curve& curve, std::size_t max_points);

// Returns at most `max_points` (>= 2) evenly spaced points of the smoothed curve. A smoothed point lies on the
// least-squares line through its neighbours, at most `reach` on either side. In the middle of the curve, the
// value is the mean of the neighbours. At the ends of the curve, the smoothed curve neither lags nor jumps.
Curve smooth_curve(const Curve& curve, std::size_t reach, std::size_t max_points);

// The style of a series.
enum class Mark { faint_line, line, dots };

struct Series {
    std::string name;
    Mark mark = Mark::line;
    int colour = 0;  // index in the style sheet: 0, 1, 2
    Curve curve;
};

// An event after a step: a line over the whole height, or a short mark at the top.
struct Event {
    double step = 0;
    std::string kind;  // for the legend: "evaluation"
    std::string text;  // shown on hover
    int colour = 0;    // index in the style sheet: 0 to 3
    bool is_tall = false;
};

// A chart with an x axis of steps and a y axis of values. Colours and fonts are defined in the style sheet.
struct Chart {
    std::string title;
    std::string y_label;                    // with its unit
    bool starts_at_zero = false;            // the y axis includes 0
    bool may_be_log = false;                // log y scale if the values span more than a factor of five
    bool is_wide = false;                   // as wide as the page, not half of it
    std::optional<double> first_step = {};  // start of the x axis, if the series begin later
    std::vector<Series> series;
    std::vector<Event> events = {};
};

// The size of a drawing and the position of its axes, in pixels from the upper left corner.
struct Frame {
    double width = 480;
    double height = 250;
    double left = 76;
    double right = 468;
    double top = 12;
    double bottom = 206;
};
Frame make_frame(const Chart& chart);

// Returns Scale::log if the chart may use it, all values are above 0, and the values span more than a factor of
// five.
Scale choose_y_scale(const Chart& chart);

// Returns the points of the curve in pixels, as SVG writes them: "76.0,206.0 468.0,12.0".
std::string format_points(const Curve& curve, const Axis& x, const Axis& y, const Frame& frame);

// Returns an HTML figure with title, drawing, and a legend if there are several series or events. Empty if no
// series has points.
std::string draw_chart(const Chart& chart);

// A part of a horizontal bar. All bars of a drawing have the same scale.
struct BarPart {
    std::string name;  // for the legend
    double value = 0;  // at least 0
    std::string text;  // the value as text
    int colour = 0;    // index in the style sheet
};

struct Bar {
    std::string label;  // before the bar; may be empty
    std::vector<BarPart> parts;
};

// Returns an HTML figure with title, bars, and a legend. The legend shows the value of a part that occurs in
// only one bar. Empty if all values are 0.
std::string draw_bars(const std::string& title, const std::vector<Bar>& bars);

}  // namespace trireme::report
