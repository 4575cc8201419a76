// The order in which the threads of a block run.
#pragma once

#include <cstdint>

namespace trireme::emulated {

// Sets the order from the next kernel on; with seed 0 threads run in ascending order. Results must not depend
// on it.
void shuffle_threads(std::uint64_t seed);
bool are_threads_shuffled();

}  // namespace trireme::emulated
