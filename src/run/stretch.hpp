// Steps in which work may stay in flight from one to the next.
#pragma once

#include "trireme/config/config.hpp"
#include "trireme/plan/plan.hpp"

namespace trireme {

// The end of those that begin behind `first` steps: before the next evaluation or checkpoint, for which nothing
// may be in flight, or the next chance to change the plan.
std::size_t longest_stretch(std::size_t first, std::size_t next_chance, const Plan& plan,
                            const RunOptions& run);

}  // namespace trireme
