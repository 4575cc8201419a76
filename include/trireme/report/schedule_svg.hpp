// A picture of what the programs of a step do, and when.
#pragma once

#include <string>
#include <vector>

#include "trireme/schedule/predict.hpp"

namespace trireme {

// Programs and when they do what.
struct Timeline {
    std::string title;
    Prediction prediction;
};

// An SVG file that needs nothing else: a row for each team, time to the right, forwards, backwards (whole, or
// in their two halves) and updates in colours that are told apart without red and green, with a legend. What is
// wide enough says its micro-batch (and its stage, where a team holds several); all say it where they are
// pointed at.
std::string schedule_svg(const Prediction& prediction, const std::string& title);

// Several, one below the other over one axis of time.
std::string schedules_svg(const std::vector<Timeline>& timelines);

}  // namespace trireme
