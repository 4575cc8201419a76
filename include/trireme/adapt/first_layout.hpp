// The layout with which a run begins, if it follows the lengths of samples or the number of frozen blocks.
#pragma once

#include <vector>

#include "trireme/setup/setup.hpp"

namespace trireme::adapt {

// Throws ConfigError if the layout follows the lengths of samples or the number of frozen blocks, and
//   - no layout has enough memory for the longest samples, or for --memory-limit;
//   - the nodes have too few ranks for the first layout of --auto-pipe published; or
//   - --change-times is `predicted`, and there are no links.
void check_first_layout(const setup::Setup& setup);

// With --auto-pipe, changes `setup` to the best layout for its frozen blocks, before the run has any state.
// Does nothing if the run resumes, or if the layout also follows lengths: then PlanChooser decides before the
// first step. Throws ConfigError if the layout of --auto-pipe published is impossible.
void choose_first_layout(setup::Setup& setup);

}  // namespace trireme::adapt
