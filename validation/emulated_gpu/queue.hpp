// Work that the emulated GPU has been given and has not done yet.
#pragma once

#include <functional>

#include "trireme/device/gpu.hpp"

namespace trireme::emulated {

// Done when somebody waits for it, and not before: who reads what a queue makes without waiting reads something
// old.
void do_later(device::GpuQueue& queue, std::function<void()> job);

// Likewise, of what takes until `is_over` says so, which is asked again and again.
void stand_until(void* stream, std::function<bool()> is_over);

// What a GPU does while its processor does something else: the queues that are alone go on, and what they wait
// for. The others do as little as they can.
void let_gpu_go_on();

// A kernel's turn, as the thread of a block has it.
void start_kernel(device::GpuQueue& queue, const device::GpuGrid& grid, std::function<void()> thread);

}  // namespace trireme::emulated
