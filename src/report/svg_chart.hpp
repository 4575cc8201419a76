// A chart with two axes, drawn as SVG. Its colours and fonts are the style sheet's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/axis.hpp"
#include "report/curve.hpp"

namespace trireme::report {

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

}  // namespace trireme::report
