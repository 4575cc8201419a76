// `trireme simulate`: runs the real program under SimGrid, on a cluster that a file describes.
#pragma once

#include <string>

namespace trireme::tools {

struct SimulateConfig {
    std::string cluster;           // a file: see plan/cluster.hpp
    int ranks = 0;                 // 0 if unset
    bool is_network_free = false;  // messages take no time
    bool does_math = true;         // false: the ghost backend, which computes no values
    std::string train_options;     // all options of `train`, as an INI file
    std::string search_path;       // for finding commands: see find_command()
};

// Replaces this process by SimGrid's launcher, which runs trireme-sim on a platform made from the cluster file.
// trireme-sim must be in the folder of this program. Throws ConfigError if the cluster file cannot be read,
// describes no cluster, or has fewer devices than there are ranks. Throws ResourceError if the launcher or
// trireme-sim is missing.
[[noreturn]] void simulate(const SimulateConfig& config);

}  // namespace trireme::tools
