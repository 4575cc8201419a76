// What was found, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "tools/doctor/findings.hpp"

namespace trireme::doctor {

// A line for each finding and one for its advice, and a last one that says whether all is well.
std::string text_of(const std::vector<Finding>& findings);

// One object: findings, and the facts behind them. Bytes, seconds, and operations a second.
std::string json_of(const Facts& facts, const std::vector<Finding>& findings);

// What a rank tells rank 0: an entry of "ranks" in the object above. What another build has not said is empty.
std::string json_of(const RankFacts& rank);
RankFacts rank_of_json(const std::string& text);

}  // namespace trireme::doctor
