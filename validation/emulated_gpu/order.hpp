// In which order the threads of a block take their turns.
#pragma once

#include <cstdint>

namespace trireme::emulated {

// From the next kernel on; 0: in order of their numbers. What a kernel computes must not change.
void shuffle_threads(std::uint64_t seed);
bool are_threads_shuffled();

}  // namespace trireme::emulated
