// The machine below a rank, as the system reports it: processor, cores, and memory in use and to be used.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace trireme::device {

// The machine below a rank, as the system tells.
std::size_t peak_resident_bytes();  // of this process since it began (VmHWM); 0 where the system does not tell
std::size_t resident_bytes();       // of this process now (VmRSS); 0 where the system does not tell
// Peak of the resident memory without mapped files, such as the code of libraries.
std::size_t peak_private_bytes();
std::string processor_name();  // "Intel(R) Xeon(R) ..."; "unknown processor" where it does not tell
// Threads that a rank may have: the cores of the machine, and 64 on a smaller one, where tests and trials have
// more threads than cores. Beyond that threads only wait for each other.
int most_threads();
std::vector<int> usable_cores();  // the numbers of those that this process may run on; at least one

// The node's memory, or the limit of a memory control group. Processes with the same `identity` on a node share
// it.
struct UsableMemory {
    std::string identity;
    std::string group = {};  // its path, "/slurm/job_7/step_0"; empty: the node
    std::size_t bytes = 0;   // in all
    std::size_t left = 0;    // until the node swaps, or the system kills: without what caches would give back
};

// The node first, then the control group of this process and its parents (version 1 or 2), as far as they allow
// less than the node has. Empty where the system does not say. `root` is the folder that has /proc and /sys.
std::vector<UsableMemory> usable_memory(const std::filesystem::path& root = "/");

}  // namespace trireme::device
