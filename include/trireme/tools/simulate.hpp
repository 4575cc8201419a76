// `trireme simulate`: runs the real program under SimGrid, on a cluster that a file describes.
#pragma once

#include <string>

namespace trireme::tools {

struct SimulateConfig {
    std::string cluster;           // path of the cluster file: see plan/cluster.hpp
    int ranks = 0;                 // number of simulated ranks, at least 1; 0 if unset
    bool is_network_free = false;  // if true, messages take no simulated time
    bool does_math = true;         // if false, the run uses ghosts, which compute no values
    std::string train_options;     // content of an INI file with all options of `train`
    std::string search_path;       // value of PATH, where smpirun is searched
};

// Replaces this process with SimGrid's launcher, which runs trireme-sim on a platform made from the cluster
// file. trireme-sim must be in the folder of this program. Throws ConfigError if the cluster file cannot be
// read, describes no cluster, or has fewer devices than there are ranks. Throws ResourceError if the launcher
// or trireme-sim is missing.
[[noreturn]] void simulate(const SimulateConfig& config);

}  // namespace trireme::tools
