// Why something was decided about slow ranks, for people.
#pragma once

#include <map>
#include <string>

#include "trireme/plan/observation.hpp"

namespace trireme {

// "rank 3 takes 4.0 times as long as others"
std::string words_of_slowness(const Observation& observed);

// What a step takes, by how much it is to be shorter, and what it is to take then.
std::map<std::string, double> terms_of_gain(const Observation& observed, double gain);

}  // namespace trireme
