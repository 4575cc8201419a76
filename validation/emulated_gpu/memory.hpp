// What the emulated GPU remembers of its memory.
#pragma once

#include <cstddef>

namespace trireme::emulated {

std::size_t times_memory_was_taken();  // by this process, until now

}  // namespace trireme::emulated
