// Draws line charts as SVG. The x axis is logarithmic and labels each x of the points; the y axis is linear
// from 0.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace trireme::studies {

// Points (x, y) of each line, by its name.
using Lines = std::map<std::string, std::vector<std::pair<double, double>>>;

std::string draw_svg(const std::string& title, const std::string& x_name, const std::string& y_name,
                     const Lines& lines);

}  // namespace trireme::studies
