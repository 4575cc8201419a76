// Charts as SVG: curves over an axis, and bars.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/axis.hpp"

namespace trireme::report {

// Points in the order of x, made fit to be drawn.
struct Point {
    double x = 0;
    double y = 0;
    friend bool operator==(const Point&, const Point&) = default;
};
using Curve = std::vector<Point>;

// At most `most` (>= 2) points. Of each of most / 2 equal stretches the lowest and the highest stay, so that no
// spike is lost.
Curve thinned(const Curve& curve, std::size_t most);

// At most `most` (>= 2) points, evenly picked. Each lies on the line that fits its neighbours best, `reach` on
// either side where there are as many: in the middle that is their mean, and the ends neither lag nor jump.
Curve smoothed(const Curve& curve, std::size_t reach, std::size_t most);

// A chart with two axes, drawn as SVG. Its colours and fonts are the style sheet's.
enum class Mark { faint_line, line, dots };

struct Series {
    std::string name;
    Mark mark = Mark::line;
    int colour = 0;  // of the style sheet: 0, 1, 2
    Curve curve;
};

// Something that happened after a step: a line over the whole height, or a short one at the top.
struct Event {
    double step = 0;
    std::string kind;  // for the legend
    std::string text;
    int colour = 0;  // of the style sheet: 0 to 3
    bool is_tall = false;
};

struct Chart {
    std::string title;
    std::string y_label;  // with its unit
    bool from_zero = false;
    bool may_be_log = false;                // where the values span more than a factor of five
    bool is_wide = false;                   // the whole page, not half of it
    std::optional<double> first_step = {};  // where the axis begins, if the series begin later
    std::vector<Series> series;
    std::vector<Event> events = {};
};

// A drawing's size and the place of the axes in it, in pixels from the upper left corner.
struct Frame {
    double width = 480;
    double height = 250;
    double left = 76;
    double right = 468;
    double top = 12;
    double bottom = 206;
};
Frame frame_of(const Chart& chart);

// The log scale where the chart may have it, all values are above 0 and it would help.
Scale y_scale_of(const Chart& chart);

// "76.0,206.0 468.0,12.0": the curve's points in the frame.
std::string coordinates(const Curve& curve, const Axis& x, const Axis& y, const Frame& frame);

// A figure with title, legend (where there are several series) and drawing; empty where no series has points.
std::string svg_chart(const Chart& chart);

// Horizontal bars of one common scale, drawn as SVG.
struct BarPart {
    std::string name;  // for the legend
    double value = 0;  // at least 0
    std::string text;  // the value as people read it
    int colour = 0;    // of the style sheet
};

struct Bar {
    std::string label;  // before the bar; may be empty
    std::vector<BarPart> parts;
};

// A figure with title, bars, and a legend that says every part's value.
std::string svg_bars(const std::string& title, const std::vector<Bar>& bars);

}  // namespace trireme::report
