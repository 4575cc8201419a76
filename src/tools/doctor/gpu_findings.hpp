// Whether every rank has a GPU, and how those are.
#pragma once

#include "tools/doctor/findings.hpp"

namespace trireme::doctor {

Finding gpu_finding(const Facts& facts);

// How the GPUs are that ranks would take: what the driver tells of them, and what of that slows a run down.
std::vector<Finding> gpu_state_findings(const Facts& facts);

// For each rank the device that it would take, by its place among the ranks of its node.
std::vector<std::optional<Gpu>> gpus_taken(const std::vector<RankFacts>& ranks);

}  // namespace trireme::doctor
