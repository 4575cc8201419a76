// A picture of what the programs of a step do, and when.
#pragma once

#include <string>

#include "trireme/schedule/predict.hpp"

namespace trireme {

// An SVG file that needs nothing else: a row for each team, time to the right, forwards, backwards (whole, or
// in their two halves) and updates in colours that are told apart without red and green, with a legend. What is
// wide enough says its micro-batch (and its stage, where a team holds several); all say it where they are
// pointed at.
std::string schedule_svg(const Prediction& prediction, const std::string& title);

}  // namespace trireme
