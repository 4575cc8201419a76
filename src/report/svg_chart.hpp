// Charts as SVG: curves over two axes, and bars.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/axis.hpp"

namespace trireme::report {

// A point of a curve, whose points are in the order of x.
struct Point {
    double x = 0;
    double y = 0;
    friend bool operator==(const Point&, const Point&) = default;
};
using Curve = std::vector<Point>;

// Returns at most `most` (>= 2) points. The lowest and the highest point of each of most / 2 equal ranges stay,
// so that no spike is lost.
Curve thinned(const Curve& curve, std::size_t most);

// Returns at most `most` (>= 2) points, evenly picked. Each lies on the least-squares line through its
// neighbours, up to `reach` on either side. In the middle that is their mean; at the ends the curve
// neither lags nor jumps.
Curve smoothed(const Curve& curve, std::size_t reach, std::size_t most);

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
    std::string kind;  // for the legend
    std::string text;
    int colour = 0;  // index in the style sheet: 0 to 3
    bool is_tall = false;
};

// A chart with two axes. The style sheet has its colours and fonts.
struct Chart {
    std::string title;
    std::string y_label;  // with its unit
    bool from_zero = false;
    bool may_be_log = false;                // log scale if the values span more than a factor of five
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
Frame frame_of(const Chart& chart);

// Returns the log scale if the chart may use it, all values are above 0, and they span
// more than a factor of five.
Scale y_scale_of(const Chart& chart);

// Returns "76.0,206.0 468.0,12.0": the points of the curve in the frame.
std::string coordinates(const Curve& curve, const Axis& x, const Axis& y, const Frame& frame);

// Returns a figure with title, legend (for several series) and drawing; empty if no series has points.
std::string svg_chart(const Chart& chart);

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

// Returns a figure with title, bars, and a legend. The legend shows the value of a part that occurs once.
std::string svg_bars(const std::string& title, const std::vector<Bar>& bars);

}  // namespace trireme::report
