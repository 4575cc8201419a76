// Predicts how long a step waits for optimizer state that leaves the memory of a rank at the begin of the step
// and returns before the update.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/schedule/predict.hpp"
#include "trireme/schedule/step_buffers.hpp"

namespace trireme::schedule {

// Cuts `bytes` bytes of state into pieces, which are transferred one after the other. Returns the end of each
// piece, in bytes from the first one.
std::vector<std::size_t> cut_into_transfers(std::size_t bytes);

// Returns the times of a rank whose buffers overlap the state, which begins at byte `state_begin` of the block
// of `placement`. The overlapped pieces leave in the order of their addresses. A piece returns as soon as no
// later instruction uses its memory. `uses` and `bytes` are the arguments of place_buffers().
OffloadTimes predict_offload_times(const std::vector<BufferUse>& uses, const std::vector<std::size_t>& bytes,
                                   const BufferPlacement& placement, std::size_t state_begin,
                                   double seconds_per_byte);

}  // namespace trireme::schedule
