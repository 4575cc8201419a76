// The batch of a run that does not set --batch.
#pragma once

#include "trireme/config/config.hpp"

namespace trireme {

// Raises a --batch that is not set where a step of `ranks` ranks has more micro-batches than the default has
// samples: to one sample per micro-batch. Either way the batch is set afterwards.
void fit_default_batch(RunConfig& config, int ranks);

}  // namespace trireme
