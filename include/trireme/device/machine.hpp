// The host of a rank, as the system reports it: processor, cores, and memory in use and available.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace trireme::device {

std::size_t peak_resident_bytes();  // peak of this process (VmHWM); 0 if unknown
std::size_t resident_bytes();       // of this process now (VmRSS); 0 if unknown
// Peak of the resident memory, less the mapped files, such as the code of libraries.
std::size_t peak_private_bytes();
std::string processor_name();  // "Intel(R) Xeon(R) ..."; "unknown processor" if unknown
// Maximum number of threads per rank: the cores of the host, but at least 64, because tests run more threads
// than cores on small hosts.
int most_threads();
std::vector<int> usable_cores();  // numbers of the cores that this process may run on; at least one

// The node's memory, or the limit of a memory control group.
// Processes of a node with the same `identity` share it.
struct UsableMemory {
    std::string identity;
    std::string group = {};  // path of the group, "/slurm/job_7/step_0"; empty for the node
    std::size_t bytes = 0;   // total, or the limit of the group
    std::size_t left =
        0;  // bytes until the node swaps or the OOM killer acts; reclaimable caches count as free
};

// Returns the node, then this process' control group and its parents (version 1 or 2) with a limit below the
// node's memory. Empty if the system reports nothing. `root` is the folder that has /proc and /sys.
std::vector<UsableMemory> usable_memory(const std::filesystem::path& root = "/");

}  // namespace trireme::device
