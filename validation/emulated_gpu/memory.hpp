// Statistics of the emulated GPU's memory.
#pragma once

#include <cstddef>

namespace trireme::emulated {

std::size_t times_memory_was_taken();  // number of allocations by this process so far

}  // namespace trireme::emulated
