// Where an instruction stands, in words.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trireme/schedule/instruction.hpp"

namespace trireme {

std::string ordinal(std::size_t number);  // "1st" of 1, "12th" of 12

// "2F0, the 7th instruction of team 1": the one at `position`, which counts from 0.
std::string place_of(const std::vector<Program>& programs, int team, std::size_t position);

}  // namespace trireme
