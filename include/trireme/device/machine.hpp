// The host of a rank, as the system reports it: processor, cores, and memory in use and available.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace trireme::device {

std::size_t read_peak_resident_bytes();  // maximum of this process so far (VmHWM); 0 if unknown
std::size_t read_resident_bytes();       // bytes of this process now (VmRSS); 0 if unknown
// Peak of the resident memory without mapped files, such as the code of libraries; 0 if unknown.
std::size_t read_peak_private_bytes();
std::string read_processor_name();  // "Intel(R) Xeon(R) ..."; "unknown processor" if unknown
// Maximum number of threads per rank: the cores of the host, but at least 64, because tests run more threads
// than cores on small hosts.
int max_threads();
std::vector<int> list_usable_cores();  // numbers of the cores on which this process may run; at least one

// The memory of the node, or the limit of a memory control group (cgroup).
struct UsableMemory {
    std::string identity;         // equal for the processes of a node that share this memory
    std::string cgroup = {};      // path of the control group, "/slurm/job_7/step_0"; empty for the node
    std::size_t total_bytes = 0;  // memory of the node, or limit of the control group
    // Bytes that can be allocated until the node swaps or the OOM killer acts; includes reclaimable caches.
    std::size_t available_bytes = 0;
};

// Returns the memory of the node first, then the memory of the control group (version 1 or 2) of this process
// and of its parent groups. Skips groups whose limit is not below the memory of the node. Empty if the system
// reports nothing. `root` is the folder that contains proc and sys.
std::vector<UsableMemory> find_usable_memory(const std::filesystem::path& root = "/");

}  // namespace trireme::device
