// The memory that a process may use: that of its node, within the limits of its control groups.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace trireme {

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

}  // namespace trireme
