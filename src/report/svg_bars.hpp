// Horizontal bars of one common scale, drawn as SVG.
#pragma once

#include <string>
#include <vector>

namespace trireme::report {

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
