#include "trireme/tools/simulate.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <vector>

#include "tools/platform.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/regular_file.hpp"

namespace trireme {
namespace {

namespace fs = std::filesystem;

Cluster cluster_of(const SimulateConfig& config) {
    Cluster cluster = cluster_from_json(read_regular_file(config.cluster, "--cluster"), config.cluster);
    return config.is_network_free ? with_free_network(std::move(cluster)) : cluster;
}

std::string simulated_program() {
    const fs::path program = fs::read_symlink("/proc/self/exe").parent_path() / "trireme-sim";
    if (fs::exists(program)) return program.string();
    throw ResourceError(
        cat(program.string(),
            " is not there; build Trireme where SimGrid is installed (Debian: ", "libsimgrid-dev)"));
}

// A file without a name, which this process and those that it becomes can read by the path that is returned,
// and which goes with the last of them: nothing has to be cleared away. (smpirun uses the first few descriptors
// itself.)
std::string nameless_file(const std::string& text) {
    constexpr int first_descriptor = 64;
    const int made = ::memfd_create("trireme", MFD_CLOEXEC);
    const int kept = made < 0 ? -1 : ::fcntl(made, F_DUPFD, first_descriptor);
    const bool is_written =
        kept >= 0 && ::write(kept, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    if (!is_written) throw ResourceError(cat("the simulation's files cannot be made: ", std::strerror(errno)));
    return cat("/proc/self/fd/", kept);
}

// Computing takes what the program says, and neither asking for messages nor the simulator's own habits take
// anything. Ranks share one copy of the program: it has no variables of its own.
std::vector<std::string> words_for(const SimulateConfig& config, const Cluster& cluster) {
    const std::string hosts = hosts_text(cluster, config.ranks);
    std::vector<std::string> words{"smpirun",
                                   "-no-privatize",
                                   "-np",
                                   std::to_string(config.ranks),
                                   "-platform",
                                   nameless_file(platform_text(cluster)),
                                   "-hostfile",
                                   nameless_file(hosts),
                                   "--log=root.thresh:critical",
                                   "--cfg=network/model:CM02",
                                   "--cfg=network/TCP-gamma:0",
                                   "--cfg=network/crosstraffic:0",
                                   "--cfg=network/loopback-lat:0",
                                   "--cfg=smpi/simulate-computation:no",
                                   "--cfg=smpi/host-speed:1Gf",
                                   "--cfg=smpi/test:0",
                                   "--cfg=smpi/coll-selector:ompi",
                                   "--cfg=smpi/bcast:binomial_tree"};
    if (is_metered(cluster)) words.push_back("--cfg=plugin:host_energy");
    for (const std::string& word : {simulated_program(), std::string("train"), std::string("--config"),
                                    nameless_file(config.train_options)})
        words.push_back(word);
    return words;
}

}  // namespace

// smpirun hands words on with their blanks parted, so the options travel in a file.
void simulate(const SimulateConfig& config) {
    std::vector<std::string> words = words_for(config, cluster_of(config));
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::cout.flush();
    ::execvp(arguments.front(), arguments.data());
    throw ResourceError(cat("smpirun, which runs simulations, cannot be started: ", std::strerror(errno),
                            "; install SimGrid (Debian: libsimgrid-dev), and have it on the path"));
}

}  // namespace trireme
