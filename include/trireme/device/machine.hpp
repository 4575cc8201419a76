// Facts that the system reports about the host and the process of a rank: processor, cores and memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace trireme::device {

std::size_t read_peak_resident_bytes();  // peak resident memory of this process (VmHWM); 0 if unknown
std::size_t read_resident_bytes();       // current resident memory of this process (VmRSS); 0 if unknown
// Returns the peak resident memory minus the pages of mapped files that are resident now, for example the code
// of libraries; 0 if unknown.
std::size_t read_peak_private_bytes();
std::string read_processor_name();  // "Intel(R) Xeon(R) ..."; "unknown processor" if unknown
// Returns the maximum number of threads per rank: the cores of the host, but at least 64. On small hosts, tests
// run more threads than cores.
int max_threads();
std::vector<int> list_usable_cores();  // numbers of the cores on which this process may run; at least one

// The memory of the node, or the limit of a memory control group (cgroup).
struct UsableMemory {
    std::string identity;         // equal for the processes of a node that share this memory
    std::string cgroup = {};      // cgroup path, for example "/slurm/job_7/step_0"; empty for the node
    std::size_t total_bytes = 0;  // memory of the node, or limit of the control group
    // Bytes that can be allocated until the node swaps or the OOM killer ends a process. Includes reclaimable
    // caches.
    std::size_t available_bytes = 0;
};

// Returns the memory of the node first, then the memory of the control group (version 1 or 2) of this process,
// then the memory of each parent group. Skips groups whose limit is not below the memory of the node. The
// result is empty if the system does not report the memory of the node. `root` is the folder that contains proc
// and sys.
std::vector<UsableMemory> find_usable_memory(const std::filesystem::path& root = "/");

}  // namespace trireme::device
