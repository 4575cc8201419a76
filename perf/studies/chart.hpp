// Lines over an axis that doubles, drawn as SVG.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace trireme::studies {

// Of each line its points, x and y.
using Lines = std::map<std::string, std::vector<std::pair<double, double>>>;

std::string svg_of(const std::string& title, const std::string& x_name, const std::string& y_name,
                   const Lines& lines);

}  // namespace trireme::studies
