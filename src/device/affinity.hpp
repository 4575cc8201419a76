// The CPUs that a process may run on, on machines of any size.
#pragma once

#include <sched.h>

#include <cstddef>
#include <functional>
#include <vector>

namespace trireme::device {

// Fills a mask of `bytes` bytes; false if the machine's mask is longer.
using MaskReader = std::function<bool(std::size_t bytes, cpu_set_t* mask)>;

// The numbers of the CPUs in the mask. Asks for ever longer masks, up to 2^20 CPUs; CPU 0 alone if none fits.
std::vector<int> cores_in_mask(const MaskReader& read);

}  // namespace trireme::device
