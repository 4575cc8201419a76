// Work that the emulated GPU has been given and has not done yet.
#pragma once

#include <functional>

#include "trireme/device/gpu.hpp"

namespace trireme::emulated {

// Done when somebody waits for it, and not before: who reads what a queue makes without waiting reads something
// old.
void do_later(GpuQueue& queue, std::function<void()> job);

// A kernel's turn, as the thread of a block has it.
void start_kernel(GpuQueue& queue, const GpuGrid& grid, std::function<void()> thread);

}  // namespace trireme::emulated
