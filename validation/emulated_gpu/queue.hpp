// Work that was submitted to the emulated GPU and is not executed yet.
#pragma once

#include <functional>

#include "trireme/device/gpu.hpp"

namespace trireme::emulated {

// Submits a job, which runs only when a caller waits for it. A reader that does not wait therefore reads old
// data.
void submit_job(device::GpuQueue& queue, std::function<void()> job);

// Submits work that takes until `is_over` returns true; it is polled repeatedly.
void submit_until(void* stream, std::function<bool()> is_over);

// Imitates the progress of a GPU while the CPU does something else: advances the queues made by
// make_non_blocking(), and the work that they wait for. Other queues advance as little as possible.
void advance_gpu();

// Submits a kernel; `thread` runs once per thread of the grid.
void launch_kernel(device::GpuQueue& queue, const device::GpuGrid& grid, std::function<void()> thread);

}  // namespace trireme::emulated
