// Why something was decided about slow ranks, for people.
#pragma once

#include <string>

#include "trireme/plan/observation.hpp"

namespace trireme {

// "rank 3 takes 4.0 times as long as others"
std::string words_of_slowness(const Observation& observed);

}  // namespace trireme
