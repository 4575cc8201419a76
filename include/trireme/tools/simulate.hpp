// `trireme simulate`: the real program on a cluster that is described in a file, under SimGrid.
#pragma once

#include <string>

namespace trireme::tools {

struct SimulateConfig {
    std::string cluster;  // a file: see plan/cluster.hpp
    int ranks = 0;        // 0: not said
    bool is_network_free = false;
    bool does_math = true;
    std::string train_options;  // all of them, as an INI file
    std::string search_path;    // of commands: see command_path()
};

// Becomes SimGrid's launcher with trireme-sim, which must lie beside this program, on a platform made from the
// cluster's file. Throws ConfigError for a file that cannot be read or describes no cluster, and for more ranks
// than it has devices; ResourceError where a program is missing.
[[noreturn]] void simulate(const SimulateConfig& config);

}  // namespace trireme::tools
