// Reads the CPUs on which a process may run, on hosts with any number of CPUs.
#pragma once

#include <sched.h>

#include <cstddef>
#include <functional>
#include <vector>

namespace trireme::device {

// Fills a mask of `bytes` bytes; returns false if the system's mask is longer.
using MaskReader = std::function<bool(std::size_t bytes, cpu_set_t* mask)>;

// Returns the numbers of the CPUs in the mask that `read` fills. Doubles the size of the mask until `read`
// succeeds, up to 2^20 CPUs. Returns {0} if `read` never succeeds.
std::vector<int> list_cores_in_mask(const MaskReader& read);

}  // namespace trireme::device
