// Whether every rank has a GPU.
#pragma once

#include "tools/doctor/findings.hpp"

namespace trireme::doctor {

Finding gpu_finding(const Facts& facts);

// For each rank the device that it would take, by its place among the ranks of its node.
std::vector<std::optional<Gpu>> gpus_taken(const std::vector<RankFacts>& ranks);

}  // namespace trireme::doctor
