#include "trireme/tools/simulate.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <vector>

#include "tools/simulate/platform.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/regular_file.hpp"

namespace trireme::tools {
namespace {

namespace fs = std::filesystem;

plan::Cluster cluster_of(const SimulateConfig& config) {
    plan::Cluster cluster =
        plan::cluster_from_json(read_regular_file(config.cluster, "--cluster"), config.cluster);
    return config.is_network_free ? with_free_network(std::move(cluster)) : cluster;
}

std::string simulated_program() {
    const fs::path program = fs::read_symlink("/proc/self/exe").parent_path() / "trireme-sim";
    if (fs::exists(program)) return program.string();
    throw ResourceError(
        cat(program.string(),
            " is not there; build Trireme where SimGrid is installed (Debian: ", "libsimgrid-dev)"));
}

// Writes a file without a name and returns its path. This process and the programs that it becomes can read it.
// The file vanishes with the last of them, so nothing has to be removed.
std::string nameless_file(const std::string& text) {
    const int file = ::memfd_create("trireme", 0);
    const bool is_written =
        file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    if (!is_written) throw ResourceError(cat("the simulation's files cannot be made: ", std::strerror(errno)));
    return cat("/proc/self/fd/", file);
}

// Returns the program that the shell script smpirun starts. The script itself would add two lines to every
// message of a run that fails.
std::string launcher(const std::string& search_path) {
    const auto script = command_path(search_path, "smpirun");
    if (!script)
        throw ResourceError(
            "smpirun, which runs simulations, is not on the path; install SimGrid (Debian: libsimgrid-dev)");
    const std::string text = read_regular_file(script->string());
    constexpr std::string_view name = "/smpimain";
    const std::size_t end = text.find(name);
    const std::size_t begin = end == std::string::npos ? end : text.find_last_of(" \"\n", end);
    if (begin == std::string::npos)
        throw ResourceError(cat(script->string(), " starts no smpimain; install SimGrid 3.32 or newer"));
    return text.substr(begin + 1, end + name.size() - begin - 1);
}

// Returns the command line. Only the kernels that the program charges take time; polling for messages and
// SimGrid's own defaults take none. Ranks share one copy of the program, because it has no global variables.
std::vector<std::string> words_for(const SimulateConfig& config, const plan::Cluster& cluster) {
    const std::string hosts = hosts_text(cluster, config.ranks);
    std::vector<std::string> words{launcher(config.search_path),
                                   simulated_program(),
                                   "--cfg=smpi/privatization:no",
                                   cat("--cfg=smpi/np:", config.ranks),
                                   cat("--cfg=smpi/hostfile:", nameless_file(hosts)),
                                   "--cfg=surf/precision:1e-9",
                                   "--cfg=network/model:SMPI",
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
    for (const std::string& word : {nameless_file(platform_text(cluster)), std::string("train"),
                                    std::string("--config"), nameless_file(config.train_options)})
        words.push_back(word);
    return words;
}

}  // namespace

// The simulator takes options that begin with --cfg or --log as its own, so the options
// of the run are in a file.
void simulate(const SimulateConfig& config) {
    std::vector<std::string> words = words_for(config, cluster_of(config));
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::cout.flush();
    ::execv(arguments.front(), arguments.data());
    throw ResourceError(cat(words.front(), ", which runs simulations, cannot be started: ",
                            std::strerror(errno), "; install SimGrid (Debian: libsimgrid-dev)"));
}

}  // namespace trireme::tools
