// Options that a resumed run takes from its checkpoint.
#pragma once

#include <optional>

#include "trireme/config/config.hpp"

namespace trireme {

// The options in the checkpoint that --resume names. There are none if the run begins, or if the checkpoint is
// of a version that keeps none. Throws ConfigError where there is no such checkpoint.
std::optional<SavedOptions> saved_options(const RunOptions& run);

// Chooses a grid for `ranks` ranks if the saved run had another number of them and no layout is given: as like
// the former one as the ranks allow, with micro-batches of the former size.
void fit_resumed_layout(RunConfig& config, int ranks);

}  // namespace trireme
